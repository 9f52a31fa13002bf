// One TCP sender whose congestion window a Python agent decides, through ns3-gym (contrib/opengym): the network of `benches/gym.py`.
//
//   --port=N       where the agent listens
//   --seconds=N    length of the run, in simulated time
//   --interval=NS  a decision each so many nanoseconds; 0: a decision at each acknowledgement, as in ns3-gym's own example of TCP
//   --walk=1       the action multiplies the window by a power of 2; else it is the window in segments
//   --rate=, --delay=, --limit=   bottleneck: bit/s, ns of one way, packets
//
// Prints one line of JSON.

#include "common.h"

#include "opengym_env.h"
#include "opengym_interface.h"
#include "container.h"
#include "spaces.h"

#include <cmath>

using namespace ns3;

namespace
{

// Numbers of an observation: as many as the group `scaled` of the gym has.
constexpr uint32_t FIELDS = 12;

class Env : public OpenGymEnv
{
  public:
    Ptr<OpenGymSpace> GetActionSpace() override
    {
        const float low = isWalk ? -1.0F : 1.0F;
        const float high = isWalk ? 1.0F : 1048576.0F;
        return CreateObject<OpenGymBoxSpace>(low, high, std::vector<uint32_t>{1}, "float");
    }

    Ptr<OpenGymSpace> GetObservationSpace() override
    {
        return CreateObject<OpenGymBoxSpace>(0.0F, 1e9F, std::vector<uint32_t>{FIELDS}, "float");
    }

    bool GetGameOver() override
    {
        return false;
    }

    Ptr<OpenGymDataContainer> GetObservation() override
    {
        const double since = (Simulator::Now() - m_began).GetSeconds();
        const double rtt = m_samples ? m_rttSum / m_samples : m_rttLast;
        const double throughput = since > 0 ? m_acked / since : 0;
        m_most = std::max(m_most, throughput);
        const double fields[FIELDS] = {since,
                                       m_acked,
                                       static_cast<double>(m_losses),
                                       static_cast<double>(m_samples),
                                       rtt,
                                       m_rttLeast,
                                       m_rttLast,
                                       m_base,
                                       throughput,
                                       m_most,
                                       m_inFlight,
                                       m_window};
        auto box = CreateObject<OpenGymBoxContainer<float>>(std::vector<uint32_t>{FIELDS});
        for (const auto field : fields)
        {
            box->AddValue(static_cast<float>(field));
        }
        m_reward = static_cast<float>(rtt > 0 ? throughput * m_base / rtt : 0);
        m_began = Simulator::Now();
        m_acked = 0;
        m_losses = m_samples = 0;
        m_rttSum = 0;
        m_rttLeast = 1e9;
        ++m_steps;
        return box;
    }

    float GetReward() override
    {
        return m_reward;
    }

    std::string GetExtraInfo() override
    {
        return "";
    }

    bool ExecuteActions(Ptr<OpenGymDataContainer> action) override
    {
        const auto box = DynamicCast<OpenGymBoxContainer<float>>(action);
        if (box)
        {
            const double value = box->GetValue(0);
            const double wanted = isWalk ? m_window * std::exp2(std::clamp(value, -1.0, 1.0)) : m_segment * value;
            m_window = std::clamp(wanted, m_segment, m_segment * 1048576);
        }
        return box != nullptr;
    }

    void Acknowledged(Ptr<TcpSocketState> tcb, uint32_t segments, const Time& rtt)
    {
        m_rttLast = rtt.GetSeconds();
        m_base = std::min(m_base, m_rttLast);
        m_rttLeast = std::min(m_rttLeast, m_rttLast);
        m_rttSum += m_rttLast;
        ++m_samples;
        m_acked += static_cast<double>(segments) * m_segment;
        m_inFlight = tcb->m_bytesInFlight;
    }

    void Lost()
    {
        ++m_losses;
    }

    void Every(Time interval)
    {
        Simulator::Schedule(interval, &Env::Every, this, interval);
        Notify();
    }

    uint32_t Window() const
    {
        return static_cast<uint32_t>(m_window);
    }

    void Begin(uint32_t segment, uint32_t segments)
    {
        m_segment = segment;
        m_window = static_cast<double>(segment) * segments;
    }

    uint64_t Steps() const
    {
        return m_steps;
    }

    bool eachAcknowledgement{false};
    bool isWalk{false};

  private:
    Time m_began;
    double m_segment{1};
    double m_window{1};
    double m_acked{0};
    double m_rttSum{0};
    double m_rttLeast{1e9};
    double m_rttLast{0};
    double m_base{1e9};
    double m_most{0};
    double m_inFlight{0};
    uint64_t m_losses{0};
    uint64_t m_samples{0};
    uint64_t m_steps{0};
    float m_reward{0};
};

Ptr<Env> g_env;

// A congestion control that takes its window from the agent with each acknowledgement.
class Decided : public TcpCongestionOps
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("bench::Decided").SetParent<TcpCongestionOps>().AddConstructor<Decided>();
        return tid;
    }

    std::string GetName() const override
    {
        return "Decided";
    }

    uint32_t GetSsThresh(Ptr<const TcpSocketState>, uint32_t) override
    {
        g_env->Lost();
        return g_env->Window();
    }

    void IncreaseWindow(Ptr<TcpSocketState> tcb, uint32_t) override
    {
        if (g_env->eachAcknowledgement)
        {
            g_env->Notify();
        }
        tcb->m_cWnd = g_env->Window();
    }

    void PktsAcked(Ptr<TcpSocketState> tcb, uint32_t segments, const Time& rtt) override
    {
        g_env->Acknowledged(tcb, segments, rtt);
    }

    Ptr<TcpCongestionOps> Fork() override
    {
        return CopyObject<Decided>(this);
    }
};

NS_OBJECT_ENSURE_REGISTERED(Decided);

struct Link
{
    uint64_t rate;
    uint64_t delay;
    uint32_t limit;
};

// Nodes in a line; returns the last one's address.
Ipv4Address
Build(const NodeContainer& nodes, const std::vector<Link>& links)
{
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    std::vector<Ipv4Address> ends(2);
    for (uint32_t i = 0; i < links.size(); ++i)
    {
        PointToPointHelper helper;
        helper.SetChannelAttribute("Delay", TimeValue(NanoSeconds(links[i].delay)));
        helper.SetDeviceAttribute("DataRate", DataRateValue(DataRate(links[i].rate)));
        const auto devices = helper.Install(nodes.Get(i), nodes.Get(i + 1));
        const auto interfaces = addresses.Assign(devices);
        addresses.NewNetwork();
        for (uint32_t end = 0; end < 2; ++end)
        {
            const auto device = DynamicCast<PointToPointNetDevice>(devices.Get(end));
            device->GetQueue()->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, links[i].limit));
            TrafficControlHelper().Uninstall(device);
        }
        ends[0] = i == 0 ? interfaces.GetAddress(0) : ends[0];
        ends[1] = interfaces.GetAddress(1);
    }
    const uint32_t last = nodes.GetN() - 1;
    bench::Routing(nodes.Get(0))->AddDefault(1);
    bench::Routing(nodes.Get(last))->AddDefault(1);
    for (uint32_t n = 1; n < last; ++n)
    {
        bench::Routing(nodes.Get(n))->Add(ends[0], 1);
        bench::Routing(nodes.Get(n))->Add(ends[1], 2);
    }
    return ends[1];
}

} // namespace

int
main(int argc, char* argv[])
{
    uint32_t port = 5555;
    uint64_t seconds = 10;
    uint64_t interval = 20'000'000;
    bool walk = false;
    uint64_t rate = 12'000'000;
    uint64_t delay = 19'000'000;
    uint32_t limit = 40;
    CommandLine cmd(__FILE__);
    cmd.AddValue("port", "where the agent listens", port);
    cmd.AddValue("seconds", "length of the run", seconds);
    cmd.AddValue("interval", "a decision each so many ns; 0: at each acknowledgement", interval);
    cmd.AddValue("walk", "the action multiplies the window", walk);
    cmd.AddValue("rate", "of the bottleneck, bit/s", rate);
    cmd.AddValue("delay", "of the bottleneck, ns", delay);
    cmd.AddValue("limit", "of the bottleneck's queue, packets", limit);
    cmd.Parse(argc, argv);

    const bench::Tcp tcp{1448, 4194304, 10, true, 200'000'000, 40'000'000};
    bench::ApplyTcp(tcp, "cubic", 1);
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(Decided::GetTypeId()));
    NodeContainer nodes(4);
    bench::Stack().Install(nodes);
    const auto server = Build(nodes, {{100'000'000, 500'000, 1000}, {rate, delay, limit}, {100'000'000, 500'000, 1000}});

    const auto gym = OpenGymInterface::Get(port);
    g_env = CreateObject<Env>();
    g_env->isWalk = walk;
    g_env->SetOpenGymInterface(gym);
    g_env->Begin(tcp.segment, tcp.window);
    g_env->eachAcknowledgement = interval == 0;
    if (interval > 0)
    {
        Simulator::Schedule(NanoSeconds(interval), &Env::Every, g_env, NanoSeconds(interval));
    }
    const auto sink =
        bench::Connect(nodes.Get(0), nodes.Get(3), InetSocketAddress(server, 5001), Seconds(0), tcp.segment, 0);
    Simulator::Stop(Seconds(static_cast<double>(seconds)));
    const double setup = bench::CpuSeconds();
    Simulator::Run();
    const double cpu = bench::CpuSeconds() - setup;
    gym->NotifySimulationEnd();
    std::printf("{\"steps\":%lu,\"received_bytes\":%lu,\"events\":%lu,\"run_cpu_s\":%.6f,\"setup_cpu_s\":%.6f}\n",
                g_env->Steps(),
                sink->GetTotalRx(),
                Simulator::GetEventCount(),
                cpu,
                setup);
    std::fflush(stdout);
    std::_Exit(0);
}

// The study aqm-lab in ns-3: a chain of three nodes, a discipline on both sides of its slow link, pairs of on-off TCP sources.
//
//     n1 --- 100 Mbit/s, 0.1 ms --- n2 --- 10 Mbit/s, 5 ms --- n3
//
// The settings are those of the study's authors (papers/aqm-lab/README.md). Uploads (n1 to n3) are on for a normal time of mean 5 s
// and variance 2, and off for one of mean 8 s and variance 3; downloads have ns-3's defaults, 1 s each. All begin off. With --always,
// every source is always on and starts within 0.1 s, as in the benchmark example of ns-3.
//
// Prints one line of JSON.

#include "common.h"

#include <map>

using namespace ns3;

namespace
{

struct Options
{
    std::string queue{"pfifo_fast"};
    uint32_t pairs{2};
    uint32_t run{1};
    std::string control{"TcpNewReno"};
    bool always{false};
};

// A source starts at 0.1 s and stops at 100 s; the run ends at 100.1 s.
constexpr double START_S = 0.1;
constexpr double STOP_S = 100.0;
constexpr double END_S = 100.1;
constexpr uint32_t PAYLOAD = 1024;

TrafficControlHelper
Discipline(const std::string& name)
{
    const std::map<std::string, std::string> types{{"pfifo_fast", "ns3::PfifoFastQueueDisc"},
                                                   {"ared", "ns3::RedQueueDisc"},
                                                   {"codel", "ns3::CoDelQueueDisc"},
                                                   {"fq_codel", "ns3::FqCoDelQueueDisc"},
                                                   {"pie", "ns3::PieQueueDisc"}};
    const auto type = types.find(name);
    NS_ABORT_MSG_IF(type == types.end(), "queue must be one of the five disciplines, got `" << name << "`");
    const QueueSizeValue limit(QueueSize("1000p"));
    TrafficControlHelper control;
    if (name == "ared")
    {
        control.SetRootQueueDisc(type->second, "MaxSize", limit, "ARED", BooleanValue(true));
    }
    else
    {
        control.SetRootQueueDisc(type->second, "MaxSize", limit);
    }
    return control;
}

// IP bytes that a node received of one flow, and when the last came.
struct Received
{
    double bytes{0};
    double last{0};

    double Mbit() const
    {
        return last > 0 ? bytes * 8e-6 / last : 0;
    }
};

// By the server's port, in the direction of the data.
std::map<uint16_t, Received> g_received;

void
OnDeliver(const Ipv4Header& header, Ptr<const Packet> packet, uint32_t)
{
    if (header.GetProtocol() != TcpL4Protocol::PROT_NUMBER)
    {
        return;
    }
    TcpHeader tcp;
    packet->PeekHeader(tcp);
    auto& flow = g_received[tcp.GetDestinationPort()];
    flow.bytes += packet->GetSize() + header.GetSerializedSize();
    flow.last = Simulator::Now().GetSeconds();
}

// Mean over time of a number of packets.
class Level
{
  public:
    void Set(uint32_t, uint32_t now)
    {
        Advance();
        m_packets = now;
    }

    double Mean()
    {
        Advance();
        return m_area / Simulator::Now().GetSeconds();
    }

  private:
    void Advance()
    {
        const double now = Simulator::Now().GetSeconds();
        m_area += m_packets * (now - m_since);
        m_since = now;
    }

    uint32_t m_packets{0};
    double m_since{0};
    double m_area{0};
};

double
Jain(const std::vector<double>& rates)
{
    double sum = 0;
    double squares = 0;
    for (const double rate : rates)
    {
        sum += rate;
        squares += rate * rate;
    }
    return squares > 0 ? sum * sum / (static_cast<double>(rates.size()) * squares) : 0;
}

double
Percentile(std::vector<double> values, double part)
{
    std::sort(values.begin(), values.end());
    const double place = part * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const auto above = std::min(below + 1, values.size() - 1);
    return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

// One source and its sink.
Ptr<PacketSink>
Flow(Ptr<Node> from, Ptr<Node> to, const InetSocketAddress& at, bool upload, double start, const Options& options)
{
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), at.GetPort()));
    auto receiver = sink.Install(to);
    receiver.Start(Seconds(0));
    OnOffHelper source("ns3::TcpSocketFactory", at);
    source.SetAttribute("PacketSize", UintegerValue(PAYLOAD));
    source.SetAttribute("DataRate", StringValue("20Mbps"));
    if (options.always)
    {
        source.SetAttribute("OffTime", StringValue("ns3::ConstantRandomVariable[Constant=0]"));
    }
    else if (upload)
    {
        source.SetAttribute("OnTime", StringValue("ns3::NormalRandomVariable[Mean=5.0|Variance=2.0]"));
        source.SetAttribute("OffTime", StringValue("ns3::NormalRandomVariable[Mean=8.0|Variance=3.0]"));
    }
    auto sender = source.Install(from);
    sender.Start(Seconds(start));
    sender.Stop(Seconds(STOP_S));
    return DynamicCast<PacketSink>(receiver.Get(0));
}

} // namespace

int
main(int argc, char* argv[])
{
    Options options;
    CommandLine cmd(__FILE__);
    cmd.AddValue("queue", "pfifo_fast, ared, codel, fq_codel or pie", options.queue);
    cmd.AddValue("pairs", "uploads, and as many downloads", options.pairs);
    cmd.AddValue("run", "number of the run: the seed", options.run);
    cmd.AddValue("control", "TcpNewReno (the default of ns-3 up to 3.33) or TcpCubic (since 3.34)", options.control);
    cmd.AddValue("always", "the sources are always on", options.always);
    cmd.Parse(argc, argv);
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(options.run);
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::" + options.control)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(PAYLOAD));

    NodeContainer nodes;
    nodes.Create(3);
    InternetStackHelper().Install(nodes);
    PointToPointHelper access;
    access.SetDeviceAttribute("DataRate", StringValue("100Mbps"));
    access.SetChannelAttribute("Delay", StringValue("0.1ms"));
    access.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100p"));
    PointToPointHelper slow;
    slow.SetDeviceAttribute("DataRate", StringValue("10Mbps"));
    slow.SetChannelAttribute("Delay", StringValue("5ms"));
    slow.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100p"));
    const auto accessDevices = access.Install(nodes.Get(0), nodes.Get(1));
    const auto slowDevices = slow.Install(nodes.Get(1), nodes.Get(2));
    Discipline("pfifo_fast").Install(accessDevices);
    auto queues = Discipline(options.queue).Install(slowDevices);
    Ipv4AddressHelper addresses("192.168.1.0", "255.255.255.0");
    const auto left = addresses.Assign(accessDevices);
    addresses.NewNetwork();
    const auto right = addresses.Assign(slowDevices);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    auto jitter = CreateObject<UniformRandomVariable>();
    std::vector<Ptr<PacketSink>> sinks;
    for (uint32_t i = 0; i < options.pairs; ++i)
    {
        const double more[] = {options.always ? jitter->GetValue(0, 0.1) : 0, options.always ? jitter->GetValue(0, 0.1) : 0};
        // The authors' ports: FqCoDelQueueDisc hashes them.
        const InetSocketAddress up(right.GetAddress(1), static_cast<uint16_t>(20 + i));
        const InetSocketAddress down(left.GetAddress(0), static_cast<uint16_t>(100 + i));
        sinks.push_back(Flow(nodes.Get(0), nodes.Get(2), up, true, START_S + more[0], options));
        sinks.push_back(Flow(nodes.Get(2), nodes.Get(0), down, false, START_S + more[1], options));
    }
    for (const uint32_t end : {0, 2})
    {
        nodes.Get(end)->GetObject<Ipv4L3Protocol>()->TraceConnectWithoutContext("LocalDeliver", MakeCallback(&OnDeliver));
    }

    std::vector<double> rtts;
#if NS3_MINOR < 38
    V4PingHelper helper(right.GetAddress(1));
    const auto ping = helper.Install(nodes.Get(0));
    ping.Get(0)->TraceConnectWithoutContext(
        "Rtt", ns3::Callback<void, Time>([&rtts](Time rtt) { rtts.push_back(rtt.GetSeconds() * 1e3); }));
#else
    PingHelper helper(right.GetAddress(1));
    helper.SetAttribute("VerboseMode", StringValue("Silent"));
    const auto ping = helper.Install(nodes.Get(0));
    ping.Get(0)->TraceConnectWithoutContext(
        "Rtt",
        ns3::Callback<void, uint16_t, Time>([&rtts](uint16_t, Time rtt) { rtts.push_back(rtt.GetSeconds() * 1e3); }));
#endif

    Level waiting;
    Level ring;
    queues.Get(0)->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Level::Set, &waiting));
    DynamicCast<PointToPointNetDevice>(slowDevices.Get(0))
        ->GetQueue()
        ->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Level::Set, &ring));

    Simulator::Stop(Seconds(END_S));
    Simulator::Run();

    std::vector<double> up;
    std::vector<double> down;
    double bytes = 0;
    for (uint32_t i = 0; i < options.pairs; ++i)
    {
        up.push_back(g_received[static_cast<uint16_t>(20 + i)].Mbit());
        down.push_back(g_received[static_cast<uint16_t>(100 + i)].Mbit());
    }
    for (const auto& sink : sinks)
    {
        bytes += static_cast<double>(sink->GetTotalRx());
    }
    // The authors' program writes whole milliseconds, rounded down.
    std::vector<double> whole;
    for (const double rtt : rtts)
    {
        whole.push_back(std::floor(rtt));
    }
    std::printf("{\"pings\":%zu,\"median_rtt_ms\":%.4f,\"median_whole_ms\":%.1f,\"p95_rtt_ms\":%.4f,\"jain_down\":%.6f,"
                "\"jain_up\":%.6f,\"goodput_mbit\":%.4f,\"drops\":%lu,\"queue_packets\":%.3f,\"cpu_s\":%.2f}\n",
                rtts.size(), Percentile(rtts, 0.5), Percentile(whole, 0.5), Percentile(rtts, 0.95), Jain(down), Jain(up),
                bytes * 8e-6 / (STOP_S - START_S),
                static_cast<unsigned long>(queues.Get(0)->GetStats().nTotalDroppedPackets +
                                           queues.Get(1)->GetStats().nTotalDroppedPackets),
                waiting.Mean() + ring.Mean(), bench::CpuSeconds());
    Simulator::Destroy();
    return 0;
}

// What the ns-3 programs of the benchmarks share: a queue disc that marks at one level, routing in constant time, the
// settings of TCP, and the line of JSON at the end.
#pragma once

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-apps-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

// The minor number of the release, from the build script: interfaces changed in between.
#ifndef NS3_MINOR
#error "compile with -DNS3_MINOR=37 or the number of your release"
#endif

namespace bench
{

using namespace ns3;

inline double
CpuSeconds()
{
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Memory that is resident, in kB: `VmRSS:`, or at most so far: `VmHWM:`, of this program alone, where the parent's ru_maxrss
// begins with its own.
inline unsigned long
ResidentKb(const std::string& name)
{
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
    {
        if (line.rfind(name, 0) == 0)
        {
            return std::stoul(line.substr(name.size()));
        }
    }
    return 0;
}

// First in, first out; what arrives while `Level` packets or more wait is marked. What Haltere's `threshold` does, and
// less work than RED with its thresholds set together, which is how ns-3's own examples come to a step.
class StepQueueDisc : public QueueDisc
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("bench::StepQueueDisc")
                .SetParent<QueueDisc>()
                .AddConstructor<StepQueueDisc>()
                .AddAttribute("Level",
                              "packets waiting from which on arrivals are marked",
                              UintegerValue(60),
                              MakeUintegerAccessor(&StepQueueDisc::m_level),
                              MakeUintegerChecker<uint32_t>())
                .AddAttribute("MaxSize",
                              "packets that may wait",
                              QueueSizeValue(QueueSize("1000p")),
                              MakeQueueSizeAccessor(&QueueDisc::SetMaxSize, &QueueDisc::GetMaxSize),
                              MakeQueueSizeChecker());
        return tid;
    }

    StepQueueDisc()
        : QueueDisc(QueueDiscSizePolicy::SINGLE_INTERNAL_QUEUE)
    {
    }

  private:
    bool DoEnqueue(Ptr<QueueDiscItem> item) override
    {
        const uint32_t waiting = GetInternalQueue(0)->GetNPackets();
        if (waiting >= GetMaxSize().GetValue())
        {
            DropBeforeEnqueue(item, "full");
            return false;
        }
        if (waiting >= m_level)
        {
            Mark(item, "level");
        }
        return GetInternalQueue(0)->Enqueue(item);
    }

    Ptr<QueueDiscItem> DoDequeue() override
    {
        return GetInternalQueue(0)->Dequeue();
    }

    bool CheckConfig() override
    {
        if (GetNInternalQueues() == 0)
        {
            AddInternalQueue(CreateObjectWithAttributes<DropTailQueue<QueueDiscItem>>(
                "MaxSize",
                QueueSizeValue(GetMaxSize())));
        }
        return GetNQueueDiscClasses() == 0 && GetNInternalQueues() == 1;
    }

    void InitializeParams() override
    {
    }

    uint32_t m_level{60};
};

NS_OBJECT_ENSURE_REGISTERED(StepQueueDisc);

// Routes by destination in a hash table. ns-3's own tables are read from end to end for each packet, which at a thousand
// links is most of the time: the comparison should not rest on that. Where a destination has several next hops, a flow that
// was told its way goes it; of others the packet's addresses choose.
class FlatRouting : public Ipv4RoutingProtocol
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("bench::FlatRouting")
                                .SetParent<Ipv4RoutingProtocol>()
                                .AddConstructor<FlatRouting>();
        return tid;
    }

    // `interface` is ns-3's number of it: 0 is the loopback, the others follow in the order in which addresses were given.
    void Add(Ipv4Address to, uint32_t interface)
    {
        m_hosts[to.Get()].push_back(MakeRoute(interface));
    }

    void AddDefault(uint32_t interface)
    {
        m_default.push_back(MakeRoute(interface));
    }

    // The way of a TCP flow's packets in one direction, where there are several; `port` is the server's, of that flow alone.
    void Choose(Ipv4Address from, Ipv4Address to, uint16_t port, uint32_t interface)
    {
        const auto found = m_hosts.find(to.Get());
        if (found == m_hosts.end() || found->second.size() < 2)
        {
            return;
        }
        for (const auto& route : found->second)
        {
            if (route->GetOutputDevice() == m_ipv4->GetNetDevice(interface))
            {
                m_flows[Key(from, to, port)] = route;
                return;
            }
        }
        NS_FATAL_ERROR("a way in the plan is not among the shortest");
    }

    Ptr<Ipv4Route> RouteOutput(Ptr<Packet> packet,
                               const Ipv4Header& header,
                               Ptr<NetDevice>,
                               Socket::SocketErrno& error) override
    {
        auto route = Find(header, packet);
        error = route ? Socket::ERROR_NOTERROR : Socket::ERROR_NOROUTETOHOST;
        return route;
    }

#if NS3_MINOR < 38
    template <typename T>
    using Arg = T;
#else
    template <typename T>
    using Arg = const T&;
#endif

    bool RouteInput(Ptr<const Packet> packet,
                    const Ipv4Header& header,
                    Ptr<const NetDevice> device,
                    Arg<UnicastForwardCallback> forward,
                    Arg<MulticastForwardCallback>,
                    Arg<LocalDeliverCallback> deliver,
                    Arg<ErrorCallback>) override
    {
        const auto interface = static_cast<uint32_t>(m_ipv4->GetInterfaceForDevice(device));
        if (m_ipv4->GetAddress(interface, 0).GetLocal() == header.GetDestination())
        {
            deliver(packet, header, interface);
            return true;
        }
        auto route = Find(header, packet);
        if (route)
        {
            forward(route, packet, header);
        }
        return route != nullptr;
    }

    void SetIpv4(Ptr<Ipv4> ipv4) override
    {
        m_ipv4 = ipv4;
    }

    void NotifyInterfaceUp(uint32_t) override
    {
    }

    void NotifyInterfaceDown(uint32_t) override
    {
    }

    void NotifyAddAddress(uint32_t, Ipv4InterfaceAddress) override
    {
    }

    void NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress) override
    {
    }

    void PrintRoutingTable(Ptr<OutputStreamWrapper>, Time::Unit) const override
    {
    }

  private:
    using Routes = std::vector<Ptr<Ipv4Route>>;

    // A point-to-point link needs no gateway, and routes differ by destination in nothing that is read afterwards.
    Ptr<Ipv4Route> MakeRoute(uint32_t interface) const
    {
        auto route = Create<Ipv4Route>();
        route->SetGateway(Ipv4Address::GetZero());
        route->SetSource(m_ipv4->GetAddress(interface, 0).GetLocal());
        route->SetOutputDevice(m_ipv4->GetNetDevice(interface));
        return route;
    }

    // These networks' addresses differ in the last 24 bits only.
    static uint64_t Key(Ipv4Address from, Ipv4Address to, uint16_t port)
    {
        return uint64_t{from.Get()} << 40 | uint64_t{to.Get() & 0xffffff} << 16 | port;
    }

    Ptr<Ipv4Route> Find(const Ipv4Header& header, const Ptr<const Packet>& packet) const
    {
        const auto found = m_hosts.find(header.GetDestination().Get());
        const Routes& routes = found == m_hosts.end() ? m_default : found->second;
        if (routes.size() < 2)
        {
            return routes.empty() ? nullptr : routes[0];
        }
        if (!m_flows.empty() && packet && header.GetProtocol() == TcpL4Protocol::PROT_NUMBER)
        {
            // Servers' ports are below 49152, where ns-3's clients begin: the smaller of the two.
            uint8_t ports[4];
            packet->CopyData(ports, 4);
            const uint16_t port = std::min(ports[0] << 8 | ports[1], ports[2] << 8 | ports[3]);
            const auto told = m_flows.find(Key(header.GetSource(), header.GetDestination(), port));
            if (told != m_flows.end())
            {
                return told->second;
            }
        }
        uint64_t key = (uint64_t{header.GetSource().Get()} << 32 | header.GetDestination().Get()) ^
                       (uint64_t{m_ipv4->GetAddress(1, 0).GetLocal().Get()} << 16);
        key = (key ^ key >> 31) * 0x9e3779b97f4a7c15;
        return routes[(key >> 32) % routes.size()];
    }

    Ptr<Ipv4> m_ipv4;
    std::unordered_map<uint32_t, Routes> m_hosts;
    std::unordered_map<uint64_t, Ptr<Ipv4Route>> m_flows;
    Routes m_default;
};

class FlatRoutingHelper : public Ipv4RoutingHelper
{
  public:
    FlatRoutingHelper* Copy() const override
    {
        return new FlatRoutingHelper(*this);
    }

    Ptr<Ipv4RoutingProtocol> Create(Ptr<Node>) const override
    {
        return CreateObject<FlatRouting>();
    }
};

inline Ptr<FlatRouting>
Routing(Ptr<Node> node)
{
    return DynamicCast<FlatRouting>(node->GetObject<Ipv4>()->GetRoutingProtocol());
}

// TCP of the whole network, from the first flow of the plan.
struct Tcp
{
    uint32_t segment;
    uint32_t buffer;
    uint32_t window;
    bool timestamps;
    uint64_t minRto;
    uint64_t delayedAck;
};

inline void
ApplyTcp(const Tcp& tcp, const std::string& control, uint32_t run)
{
    const std::string type = control == "dctcp" ? "ns3::TcpDctcp" : control == "cubic" ? "ns3::TcpCubic" : "";
    NS_ABORT_MSG_IF(type.empty(), "no control in ns-3 for `" << control << "`");
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(run);
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName(type)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(tcp.segment));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(tcp.buffer));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(tcp.buffer));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(tcp.window));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(NanoSeconds(tcp.delayedAck)));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(Seconds(1)));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(NanoSeconds(tcp.minRto)));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(tcp.timestamps));
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue(control == "dctcp" ? "On" : "Off"));
    // The weak end system model reads every interface of a node for each packet. Renamed, and inverted, after 3.37.
    if (!Config::SetDefaultFailSafe("ns3::Ipv4::StrongEndSystemModel", BooleanValue(true)))
    {
        Config::SetDefaultFailSafe("ns3::Ipv4::WeakEsModel", BooleanValue(false));
    }
}

// A transfer from one node to another; `bytes` 0 has no end. The application writes a segment at a time: the fastest of
// the sizes that were tried.
inline Ptr<PacketSink>
Connect(Ptr<Node> from, Ptr<Node> to, const InetSocketAddress& at, Time start, uint32_t write, uint64_t bytes)
{
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), at.GetPort()));
    auto receiver = sink.Install(to);
    receiver.Start(Seconds(0));
    BulkSendHelper source("ns3::TcpSocketFactory", at);
    source.SetAttribute("SendSize", UintegerValue(write));
    source.SetAttribute("MaxBytes", UintegerValue(bytes));
    source.Install(from).Start(start);
    return DynamicCast<PacketSink>(receiver.Get(0));
}

inline void
InstallPing(Ptr<Node> from, Ipv4Address to, Time start, Time interval)
{
#if NS3_MINOR < 38
    V4PingHelper ping(to);
#else
    PingHelper ping(to);
    ping.SetAttribute("VerboseMode", StringValue("Silent"));
#endif
    ping.SetAttribute("Interval", TimeValue(interval));
    ping.Install(from).Start(start);
}

inline InternetStackHelper
Stack()
{
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.SetRoutingHelper(FlatRoutingHelper());
    return stack;
}

// What came of the run, printed as one line.
struct Outcome
{
    uint64_t flows{0};
    uint64_t received{0};
    uint64_t receivedLate{0};
    uint64_t packets{0};
    uint64_t drops{0};
    uint64_t marks{0};
    std::vector<double> completionUs;
    uint64_t linksUsed{0};
    uint64_t linksWhich{0xcbf29ce484222325};
    unsigned long startKb{0};
    double setup{0};
    double cpu{0};

    double Percentile(double part)
    {
        std::sort(completionUs.begin(), completionUs.end());
        const auto n = completionUs.size();
        const auto rank = static_cast<std::size_t>(std::ceil(part * static_cast<double>(n)));
        return n ? completionUs[std::max<std::size_t>(rank, 1) - 1] : 0;
    }

    // How many links carried something, and a hash of which: as Haltere's program says it.
    void Used(bool carried)
    {
        linksUsed += carried;
        linksWhich = (linksWhich ^ static_cast<uint64_t>(carried)) * 0x100000001b3;
    }

    // Counts the packets that all lines took, prints, and leaves without tearing the simulation down: that costs ns-3
    // time which is no part of a run.
    void Print()
    {
        uint64_t hops = 0;
        for (uint32_t n = 0; n < NodeList::GetNNodes(); ++n)
        {
            auto node = NodeList::GetNode(n);
            for (uint32_t d = 0; d < node->GetNDevices(); ++d)
            {
                if (auto device = DynamicCast<PointToPointNetDevice>(node->GetDevice(d)))
                {
                    const auto queue = device->GetQueue();
                    hops += queue->GetTotalReceivedPackets() - queue->GetNPackets();
                }
            }
        }
        std::printf("{\"flows\":%lu,\"received_bytes\":%lu,\"received_bytes_late\":%lu,\"bottleneck_packets\":%lu,"
                    "\"drops\":%lu,\"marks\":%lu,\"hops\":%lu,\"events\":%lu,"
                    "\"links_used\":%lu,\"links_which\":\"%016lx\","
                    "\"completions\":{\"completed\":%zu,\"by_size\":[{\"sizes\":\"all\",\"us\":"
                    "{\"p50\":%.3f,\"p95\":%.3f,\"p99\":%.3f,\"most\":%.3f}}]},"
                    "\"run_cpu_s\":%.6f,\"setup_cpu_s\":%.6f,\"start_kb\":%lu,\"peak_kb\":%lu}\n",
                    flows, received, receivedLate, packets, drops, marks, hops, Simulator::GetEventCount(),
                    linksUsed, linksWhich, completionUs.size(), Percentile(0.5), Percentile(0.95),
                    Percentile(0.99), Percentile(1), cpu, setup, startKb, ResidentKb("VmHWM:"));
        std::fflush(stdout);
        std::_Exit(0);
    }
};

// Notes when a sink has all bytes of its flow.
inline void
WatchCompletion(Ptr<PacketSink> sink, uint64_t start, uint64_t bytes, Outcome& out)
{
    auto left = std::make_shared<uint64_t>(bytes);
    sink->TraceConnectWithoutContext(
        "Rx",
        ns3::Callback<void, Ptr<const Packet>, const Address&>([left, start, &out](Ptr<const Packet> packet, const Address&) {
            *left -= std::min<uint64_t>(*left, packet->GetSize());
            if (*left == 0)
            {
                out.completionUs.push_back(static_cast<double>(Simulator::Now().GetNanoSeconds() - start) * 1e-3);
                *left = UINT64_MAX;
            }
        }));
}

// Counts what a node drops above one device that is full and has no queue disc.
class DropCounter
{
  public:
    void Watch(Ptr<Node> node, Ptr<PointToPointNetDevice> device)
    {
        device->GetQueue()->TraceConnectWithoutContext("Drop", MakeCallback(&DropCounter::Count, this));
        if (std::find(m_nodes.begin(), m_nodes.end(), node) == m_nodes.end())
        {
            m_nodes.push_back(node);
            node->GetObject<TrafficControlLayer>()->TraceConnectWithoutContext(
                "TcDrop",
                MakeCallback(&DropCounter::Count, this));
        }
    }

    uint64_t Total() const
    {
        return m_total;
    }

  private:
    void Count(Ptr<const Packet>)
    {
        ++m_total;
    }

    std::vector<Ptr<Node>> m_nodes;
    uint64_t m_total{0};
};

// Runs to `end`, reading the sinks at `warmup`.
inline void
RunAndCount(uint64_t warmup, uint64_t end, const std::vector<Ptr<PacketSink>>& sinks, Outcome& out)
{
    auto total = [&sinks] {
        uint64_t bytes = 0;
        for (const auto& sink : sinks)
        {
            bytes += sink->GetTotalRx();
        }
        return bytes;
    };
    uint64_t early = 0;
    Simulator::Schedule(NanoSeconds(warmup), [&] { early = total(); });
    Simulator::Stop(NanoSeconds(end));
    out.setup = CpuSeconds();
    Simulator::Run();
    out.cpu = CpuSeconds() - out.setup;
    out.flows = sinks.size();
    out.received = total();
    out.receivedLate = out.received - early;
}

} // namespace bench

// Runs a plan in ns-3: nodes, links and flows as Haltere's `scenario FILE --plan` prints them, so that both simulators run
// the same network and the same traffic.
//
//   run NODES END WARMUP
//   link FROM TO RATE DELAY QUEUE LIMIT LEVEL WATCHED     one direction; bit/s, ns, packets
//   flow FROM TO START BYTES CONTROL MSS BUFFER FIRST_WINDOW TIMESTAMPS MIN_RTO DELAYED_ACK     0 bytes: no end
//   path LINK LINK ...                                    the flow's way there, by the numbers of the links; then one back
//   ping FROM TO START INTERVAL
//
// Prints one line of JSON.

#include "common.h"

#include "ns3/internet-apps-module.h"

#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

using namespace ns3;

namespace
{

struct Line
{
    uint32_t from;
    uint32_t to;
    uint64_t rate;
    uint64_t delay;
    std::string queue;
    uint32_t limit;
    uint32_t level;
    bool watched;
    Ptr<PointToPointNetDevice> device;
    Ptr<QueueDisc> disc;
    // ns-3's number of the interface that sends on it.
    uint32_t interface;
};

struct Flow
{
    uint32_t from;
    uint32_t to;
    uint64_t start;
    uint64_t bytes;
    std::string control;
    bench::Tcp tcp;
    // Where several ways are equally short: that which this flow takes, and that of its acknowledgements.
    std::vector<std::vector<uint32_t>> paths;
};

struct Ping
{
    uint32_t from;
    uint32_t to;
    uint64_t start;
    uint64_t interval;
};

struct Plan
{
    uint32_t nodes{0};
    uint64_t end{0};
    uint64_t warmup{0};
    std::vector<Line> lines;
    std::vector<Flow> flows;
    std::vector<Ping> pings;
};

Plan
Read(std::istream& in)
{
    Plan plan;
    for (std::string row; std::getline(in, row);)
    {
        std::istringstream words(row);
        std::string kind;
        words >> kind;
        if (kind == "run")
        {
            words >> plan.nodes >> plan.end >> plan.warmup;
        }
        else if (kind == "link")
        {
            Line l{};
            words >> l.from >> l.to >> l.rate >> l.delay >> l.queue >> l.limit >> l.level >> l.watched;
            plan.lines.push_back(l);
        }
        else if (kind == "flow")
        {
            Flow f{};
            words >> f.from >> f.to >> f.start >> f.bytes >> f.control >> f.tcp.segment >> f.tcp.buffer >>
                f.tcp.window >> f.tcp.timestamps >> f.tcp.minRto >> f.tcp.delayedAck;
            plan.flows.push_back(f);
        }
        else if (kind == "path")
        {
            std::vector<uint32_t> path;
            for (uint32_t link; words >> link;)
            {
                path.push_back(link);
            }
            words.clear(words.rdstate() & ~std::ios::failbit);
            plan.flows.back().paths.push_back(path);
        }
        else if (kind == "ping")
        {
            Ping p{};
            words >> p.from >> p.to >> p.start >> p.interval;
            plan.pings.push_back(p);
        }
        if (words.fail())
        {
            NS_FATAL_ERROR("a plan cannot have the line `" << row << "`");
        }
    }
    return plan;
}

// The cheapest way that ns-3 has for each queue: a drop-tail queue is the device's own, without a queue disc above it.
void
InstallQueue(Line& line)
{
    TrafficControlHelper control;
    const QueueSizeValue limit(QueueSize(QueueSizeUnit::PACKETS, line.limit));
    if (line.queue == "drop_tail")
    {
        line.device->GetQueue()->SetMaxSize(limit.Get());
        return;
    }
    line.device->GetQueue()->SetMaxSize(QueueSize("1p"));
    if (line.queue == "threshold")
    {
        control.SetRootQueueDisc("bench::StepQueueDisc", "Level", UintegerValue(line.level), "MaxSize", limit);
    }
    else
    {
        control.SetRootQueueDisc("ns3::FqCoDelQueueDisc", "MaxSize", limit, "UseEcn", BooleanValue(false));
    }
    line.disc = control.Install(line.device).Get(0);
}

struct Network
{
    NodeContainer nodes;
    // The first address of each node.
    std::vector<Ipv4Address> address;
    // For each node: whom its interfaces reach, by ns-3's number of the interface.
    std::vector<std::vector<uint32_t>> neighbours;
};

Network
Build(Plan& plan)
{
    Network net;
    net.nodes.Create(plan.nodes);
    net.address.resize(plan.nodes);
    net.neighbours.assign(plan.nodes, {UINT32_MAX});
    bench::Stack().Install(net.nodes);
    std::map<std::pair<uint32_t, uint32_t>, Line*> open;
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    for (auto& line : plan.lines)
    {
        const auto other = open.find({line.to, line.from});
        if (other == open.end())
        {
            open[{line.from, line.to}] = &line;
            continue;
        }
        Line* ends[] = {other->second, &line};
        open.erase(other);
        PointToPointHelper helper;
        helper.SetChannelAttribute("Delay", TimeValue(NanoSeconds(line.delay)));
        const auto devices = helper.Install(net.nodes.Get(ends[0]->from), net.nodes.Get(ends[1]->from));
        for (uint32_t i = 0; i < 2; ++i)
        {
            ends[i]->device = DynamicCast<PointToPointNetDevice>(devices.Get(i));
            ends[i]->device->SetDataRate(DataRate(ends[i]->rate));
            InstallQueue(*ends[i]);
        }
        const auto interfaces = addresses.Assign(devices);
        addresses.NewNetwork();
        for (uint32_t i = 0; i < 2; ++i)
        {
            const auto node = ends[i]->from;
            if (!ends[i]->disc)
            {
                TrafficControlHelper().Uninstall(ends[i]->device);
            }
            if (net.neighbours[node].size() == 1)
            {
                net.address[node] = interfaces.GetAddress(i);
            }
            ends[i]->interface = static_cast<uint32_t>(net.neighbours[node].size());
            net.neighbours[node].push_back(ends[i]->to);
        }
    }
    return net;
}

// Distances in links of all nodes from one, end hosts (one interface) not passed through.
std::vector<uint32_t>
Distances(const Network& net, uint32_t from)
{
    std::vector<uint32_t> distance(net.neighbours.size(), UINT32_MAX);
    std::vector<uint32_t> reached{from};
    distance[from] = 0;
    for (std::size_t i = 0; i < reached.size(); ++i)
    {
        const auto node = reached[i];
        for (std::size_t k = 1; k < net.neighbours[node].size(); ++k)
        {
            const auto next = net.neighbours[node][k];
            if (distance[next] == UINT32_MAX && net.neighbours[next].size() > 2)
            {
                distance[next] = distance[node] + 1;
                reached.push_back(next);
            }
        }
    }
    return distance;
}

// Shortest paths by number of links, all of them where there are several. An end host sends everything the one way it
// has; what it hangs on decides how others reach it.
void
Route(const Network& net, const std::vector<uint32_t>& destinations)
{
    std::map<uint32_t, std::vector<uint32_t>> known;
    for (uint32_t n = 0; n < net.neighbours.size(); ++n)
    {
        if (net.neighbours[n].size() == 2)
        {
            bench::Routing(net.nodes.Get(n))->AddDefault(1);
        }
    }
    for (const auto to : destinations)
    {
        const bool host = net.neighbours[to].size() == 2;
        const auto root = host ? net.neighbours[to][1] : to;
        auto found = known.find(root);
        if (found == known.end())
        {
            found = known.emplace(root, Distances(net, root)).first;
        }
        const auto& distance = found->second;
        for (uint32_t n = 0; n < net.neighbours.size(); ++n)
        {
            if (net.neighbours[n].size() == 2 || n == to || distance[n] == UINT32_MAX)
            {
                continue;
            }
            for (uint32_t k = 1; k < net.neighbours[n].size(); ++k)
            {
                const auto next = net.neighbours[n][k];
                if (n == root ? next == to : distance[next] + 1 == distance[n])
                {
                    bench::Routing(net.nodes.Get(n))->Add(net.address[to], k);
                }
            }
        }
    }
}

// Sends a flow the ways of the plan. Only where there are several is anything written down.
void
RouteFlow(const Network& net, const Plan& plan, const Flow& flow, uint16_t port)
{
    const Ipv4Address ends[] = {net.address[flow.from], net.address[flow.to]};
    for (std::size_t back = 0; back < flow.paths.size(); ++back)
    {
        for (const auto number : flow.paths[back])
        {
            const auto& line = plan.lines.at(number);
            bench::Routing(net.nodes.Get(line.from))->Choose(ends[back], ends[1 - back], port, line.interface);
        }
    }
}

} // namespace

int
main(int argc, char* argv[])
{
    bench::Outcome out;
    out.startKb = bench::ResidentKb("VmRSS:");
    std::string file;
    uint32_t run = 1;
    CommandLine cmd(__FILE__);
    cmd.AddValue("plan", "file with the plan", file);
    cmd.AddValue("run", "number of the run: the seed", run);
    cmd.Parse(argc, argv);
    std::ifstream in(file);
    Plan plan = Read(in);
    NS_ABORT_MSG_IF(plan.flows.empty(), "no flows in the plan `" << file << "`");
    bench::ApplyTcp(plan.flows[0].tcp, plan.flows[0].control, run);

    Network net = Build(plan);
    std::vector<uint32_t> destinations;
    std::vector<bool> seen(plan.nodes);
    auto visit = [&](uint32_t node) {
        if (!seen[node])
        {
            seen[node] = true;
            destinations.push_back(node);
        }
    };
    for (const auto& flow : plan.flows)
    {
        visit(flow.from);
        visit(flow.to);
    }
    Route(net, destinations);

    std::vector<Ptr<PacketSink>> sinks;
    // A path of its own is found by the server's port: the same port twice would not do, nor one that a client may have.
    const bool spread = !plan.flows[0].paths.empty();
    NS_ABORT_MSG_IF(spread && plan.flows.size() > 40000, "more flows with paths than ports");
    std::vector<uint16_t> port(plan.nodes, 5001);
    uint16_t next = 5001;
    for (const auto& flow : plan.flows)
    {
        const InetSocketAddress at(net.address[flow.to], spread ? next++ : port[flow.to]++);
        RouteFlow(net, plan, flow, at.GetPort());
        sinks.push_back(bench::Connect(net.nodes.Get(flow.from), net.nodes.Get(flow.to), at,
                                       NanoSeconds(flow.start), flow.tcp.segment, flow.bytes));
        if (flow.bytes)
        {
            bench::WatchCompletion(sinks.back(), flow.start, flow.bytes, out);
        }
    }
    for (const auto& ping : plan.pings)
    {
        bench::InstallPing(net.nodes.Get(ping.from), net.address[ping.to], NanoSeconds(ping.start),
                           NanoSeconds(ping.interval));
    }

    bench::DropCounter drops;
    for (const auto& line : plan.lines)
    {
        if (line.watched && !line.disc)
        {
            drops.Watch(net.nodes.Get(line.from), line.device);
        }
    }
    bench::RunAndCount(plan.warmup, plan.end, sinks, out);
    out.drops = drops.Total();
    for (const auto& line : plan.lines)
    {
        out.Used(line.device->GetQueue()->GetTotalReceivedPackets() > 0);
        if (line.watched)
        {
            out.packets += line.device->GetQueue()->GetTotalReceivedPackets();
            out.drops += line.disc ? line.disc->GetStats().nTotalDroppedPackets : 0;
            out.marks += line.disc ? line.disc->GetStats().nTotalMarkedPackets : 0;
        }
    }
    out.Print();
}

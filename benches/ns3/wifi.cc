// Three stations of a Wi-Fi network, each with one download, in ns-3: 802.11n with two streams and 20 MHz (MCS 15,
// 144.4 Mbit/s), a server behind 1 Gbit/s and 10 ms. The same for Haltere: benches/scenarios/wifi.toml.
//
// Wi-Fi is not among the modules of get.sh. With PyPI's wheel, unpacked in DIR:
//
//   g++ -std=c++20 -O3 -march=native -IDIR/ns3/include benches/ns3/wifi.cc -o wifi -LDIR/ns3/lib64 \
//     -Wl,-rpath,DIR/ns3/lib64 $(ls DIR/ns3/lib64 | sed -n 's/^lib\(ns3.*-\(core\|network\|internet\|applications\|mobility\|point-to-point\|propagation\|traffic-control\|wifi\)\).so$/-l\1/p')
//   ./wifi SECONDS [UDP_RATE]
//
// The wheel has logging and asserts compiled in, which costs ns-3 half its speed.
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/wifi-module.h"

#include <cstdio>
#include <ctime>

using namespace ns3;

int
main(int argc, char* argv[])
{
    const double seconds = argc > 1 ? std::stod(argv[1]) : 10;
    const std::string udp = argc > 2 ? argv[2] : "";
    const uint32_t stations = 3;

    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(6 << 20));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::WifiMacQueue::MaxSize", QueueSizeValue(QueueSize("1000p")));

    NodeContainer server(1);
    NodeContainer base(1);
    NodeContainer hosts(stations);

    PointToPointHelper wan;
    wan.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
    wan.SetChannelAttribute("Delay", StringValue("10ms"));
    NetDeviceContainer wired = wan.Install(NodeContainer(server, base));

    YansWifiPhyHelper phy;
    phy.SetChannel(YansWifiChannelHelper::Default().Create());
    phy.Set("ChannelSettings", StringValue("{36, 20, BAND_5GHZ, 0}"));
    phy.Set("Antennas", UintegerValue(2));
    phy.Set("MaxSupportedTxSpatialStreams", UintegerValue(2));
    phy.Set("MaxSupportedRxSpatialStreams", UintegerValue(2));
    WifiHelper wifi;
    wifi.SetStandard(WIFI_STANDARD_80211n);
    wifi.ConfigHtOptions("ShortGuardIntervalSupported", BooleanValue(true));
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode", StringValue("HtMcs15"),
                                 "ControlMode", StringValue("OfdmRate24Mbps"));
    WifiMacHelper mac;
    const Ssid ssid("haltere");
    mac.SetType("ns3::ApWifiMac", "Ssid", SsidValue(ssid));
    NetDeviceContainer radio = wifi.Install(phy, mac, base);
    mac.SetType("ns3::StaWifiMac", "Ssid", SsidValue(ssid));
    radio.Add(wifi.Install(phy, mac, hosts));

    MobilityHelper mobility;
    mobility.SetPositionAllocator("ns3::GridPositionAllocator", "DeltaX", DoubleValue(1), "DeltaY", DoubleValue(1));
    mobility.Install(NodeContainer(base, hosts));

    InternetStackHelper internet;
    internet.Install(NodeContainer(server, base, hosts));
    Ipv4AddressHelper addresses;
    addresses.SetBase("10.1.0.0", "255.255.255.0");
    addresses.Assign(wired);
    addresses.SetBase("10.2.0.0", "255.255.255.0");
    const Ipv4InterfaceContainer at = addresses.Assign(radio);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    ApplicationContainer sinks;
    for (uint32_t i = 0; i < stations; ++i)
    {
        const InetSocketAddress to(at.GetAddress(1 + i), 5000);
        const std::string kind = udp.empty() ? "ns3::TcpSocketFactory" : "ns3::UdpSocketFactory";
        sinks.Add(PacketSinkHelper(kind, InetSocketAddress(Ipv4Address::GetAny(), 5000)).Install(hosts.Get(i)));
        ApplicationContainer source;
        if (udp.empty())
        {
            BulkSendHelper bulk(kind, to);
            bulk.SetAttribute("SendSize", UintegerValue(14480));
            source = bulk.Install(server.Get(0));
        }
        else
        {
            OnOffHelper steady(kind, to);
            steady.SetConstantRate(DataRate(udp), 1472);
            source = steady.Install(server.Get(0));
        }
        source.Start(Seconds(0.5));
    }
    timespec before{};
    timespec after{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    const double cpu = double(after.tv_sec - before.tv_sec) + 1e-9 * double(after.tv_nsec - before.tv_nsec);
    std::printf("{\"seconds\": %g, \"cpu_s\": %.3f, \"mbit\": [", seconds, cpu);
    for (uint32_t i = 0; i < stations; ++i)
    {
        const auto bytes = DynamicCast<PacketSink>(sinks.Get(i))->GetTotalRx();
        std::printf("%s%.2f", i ? ", " : "", 8e-6 * double(bytes) / (seconds - 0.5));
    }
    std::printf("]}\n");
    Simulator::Destroy();
    return 0;
}

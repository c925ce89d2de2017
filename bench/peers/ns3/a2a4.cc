// Where the handover of a UE starts in ns-3 with A2A4RsrqHandoverAlgorithm: two eNBs on a line, a UE that moves from
// one to the other. It prints the time and the position of each handover, as CSV.
//
// Radio: DL EARFCN 100 (2120 MHz), SISO, Friis, 25 RBs, eNB 30 dBm NF 5 dB, UE 10 dBm NF 9 dB; ideal RRC.
// With --load, a saturating flow to a UE beside each eNB. Written against the public API of ns-3.37.

#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/lte-module.h>
#include <ns3/mobility-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>

#include <cstdio>

using namespace ns3;

namespace
{

Ptr<MobilityModel> g_mover;

void
OnStart(uint64_t imsi, uint16_t from, uint16_t, uint16_t to)
{
    if (imsi == 1)
    {
        std::printf("%.3f,%.1f,%u,%u\n", Simulator::Now().GetSeconds(), g_mover->GetPosition().x, from, to);
    }
}

} // namespace

int
main(int argc, char** argv)
{
    double apart = 1000, start = 400, speed = 10, duration = 20;
    uint32_t threshold = 30, offset = 1, filter = 0;
    bool load = false;
    CommandLine line;
    line.AddValue("apart", "distance between the eNBs, m", apart);
    line.AddValue("start", "where the UE starts, m", start);
    line.AddValue("speed", "m/s", speed);
    line.AddValue("duration", "s", duration);
    line.AddValue("threshold", "ServingCellThreshold", threshold);
    line.AddValue("offset", "NeighbourCellOffset", offset);
    line.AddValue("filter", "RsrqFilterCoefficient", filter);
    line.AddValue("load", "saturate both cells", load);
    line.Parse(argc, argv);

    Config::SetDefault("ns3::LteEnbPhy::TxPower", DoubleValue(30));
    Config::SetDefault("ns3::LteUePhy::TxPower", DoubleValue(10));
    Config::SetDefault("ns3::LteUePhy::NoiseFigure", DoubleValue(9));
    Config::SetDefault("ns3::LteUePhy::EnableRlfDetection", BooleanValue(false));
    Config::SetDefault("ns3::LteEnbRrc::RsrqFilterCoefficient", UintegerValue(filter));
    Config::SetDefault("ns3::LteEnbRrc::EpsBearerToRlcMapping", EnumValue(LteEnbRrc::RLC_UM_ALWAYS));
    Config::SetDefault("ns3::LteRlcUm::MaxTxBufferSize", UintegerValue(512 * 1024));

    auto lte = CreateObject<LteHelper>();
    auto epc = CreateObject<PointToPointEpcHelper>();
    lte->SetEpcHelper(epc);
    lte->SetAttribute("PathlossModel", TypeIdValue(FriisPropagationLossModel::GetTypeId()));
    lte->SetHandoverAlgorithmType("ns3::A2A4RsrqHandoverAlgorithm");
    lte->SetHandoverAlgorithmAttribute("ServingCellThreshold", UintegerValue(threshold));
    lte->SetHandoverAlgorithmAttribute("NeighbourCellOffset", UintegerValue(offset));
    lte->SetEnbDeviceAttribute("DlBandwidth", UintegerValue(25));
    lte->SetEnbDeviceAttribute("UlBandwidth", UintegerValue(25));

    auto remote = CreateObject<Node>();
    InternetStackHelper stack;
    stack.Install(remote);
    PointToPointHelper wan;
    wan.SetDeviceAttribute("DataRate", DataRateValue(DataRate("100Gb/s")));
    wan.SetDeviceAttribute("Mtu", UintegerValue(1500));
    auto wanDevices = wan.Install(epc->GetPgwNode(), remote);
    Ipv4AddressHelper addresses;
    addresses.SetBase("1.0.0.0", "255.0.0.0");
    addresses.Assign(wanDevices);
    Ipv4StaticRoutingHelper routing;
    routing.GetStaticRouting(remote->GetObject<Ipv4>())
        ->AddNetworkRouteTo(Ipv4Address("7.0.0.0"), Ipv4Mask("255.0.0.0"), 1);

    NodeContainer enbs, ues;
    enbs.Create(2);
    ues.Create(3);
    auto fixed = CreateObject<ListPositionAllocator>();
    fixed->Add(Vector(0, 0, 0));
    fixed->Add(Vector(apart, 0, 0));
    MobilityHelper mobility;
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.SetPositionAllocator(fixed);
    mobility.Install(enbs);
    MobilityHelper moving;
    moving.SetMobilityModel("ns3::ConstantVelocityMobilityModel");
    moving.Install(ues);
    const double places[] = {start, 10, apart - 10};
    for (uint32_t i = 0; i < 3; ++i)
    {
        auto model = ues.Get(i)->GetObject<ConstantVelocityMobilityModel>();
        model->SetPosition(Vector(places[i], 0, 0));
        model->SetVelocity(Vector(i == 0 ? speed : 0, 0, 0));
    }
    g_mover = ues.Get(0)->GetObject<MobilityModel>();

    auto enbDevices = lte->InstallEnbDevice(enbs);
    auto ueDevices = lte->InstallUeDevice(ues);
    stack.Install(ues);
    auto interfaces = epc->AssignUeIpv4Address(ueDevices);
    for (uint32_t i = 0; i < 3; ++i)
    {
        routing.GetStaticRouting(ues.Get(i)->GetObject<Ipv4>())
            ->SetDefaultRoute(epc->GetUeDefaultGatewayAddress(), 1);
        lte->Attach(ueDevices.Get(i), enbDevices.Get(i == 2 ? 1 : 0));
    }
    lte->AddX2Interface(enbs);
    for (uint32_t i = 0; i < 2; ++i)
    {
        DynamicCast<LteEnbNetDevice>(enbDevices.Get(i))
            ->GetRrc()
            ->TraceConnectWithoutContext("HandoverStart", MakeCallback(&OnStart));
    }
    for (uint32_t i = 1; load && i < 3; ++i)
    {
        UdpClientHelper client(interfaces.GetAddress(i), 9000);
        client.SetAttribute("Interval", TimeValue(MicroSeconds(200)));
        client.SetAttribute("PacketSize", UintegerValue(1400));
        client.SetAttribute("MaxPackets", UintegerValue(0xffffffff));
        client.Install(remote).Start(Seconds(0.05));
    }
    std::printf("t_s,x_m,from,to\n");
    Simulator::Stop(Seconds(duration));
    Simulator::Run();
    Simulator::Destroy();
}

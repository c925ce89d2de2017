// One LTE cell in ns-3, or several on one carrier: eNBs, their UEs, one downlink flow per UE. It is the peer against which airlane's
// speed and figures are held, so it measures the run alone: set-up and tear-down are outside `wall_run_s`.
//
// Topology: server --(100 Gbit/s, WAN delay)-- PGW --(S1-U 10 Gbit/s, 0 ms)-- eNB --(radio)-- UEs.
// Radio: DL EARFCN 100 (2120 MHz), SISO, Friis, eNB 30 dBm NF 5 dB, UE 10 dBm NF 7 dB, mutual-information AMC.
// Output: one line of JSON. Written against the public API of ns-3.37.

#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/lte-module.h>
#include <ns3/mobility-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>

#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint16_t SINK_PORT = 9000;

struct Options
{
    uint32_t ues = 1;
    std::string traffic = "udp";
    std::string rlc = "um";
    std::string positions;
    std::string sites;
    double distance = 100.0;
    uint32_t resourceBlocks = 100;
    double duration = 5.0;
    double warmup = 2.0;
    double start = 0.2;
    double offeredMbps = 150.0;
    double wanDelayMs = 30.0;
    uint32_t rlcBuffer = 512 * 1024;
    uint32_t payload = 1400;
    uint32_t tcpBuffer = 6 * 1024 * 1024;
    std::string congestion = "TcpCubic";
    std::string scheduler = "pf";
    std::string fading;
    double statusProhibitMs = 10.0;
    uint32_t run = 1;
    bool meter = false;
};

[[noreturn]] void
Refuse(const std::string& why)
{
    std::cerr << "cell: " << why << "\n";
    std::exit(2);
}

Options
Parse(int argc, char** argv)
{
    Options o;
    CommandLine line;
    line.AddValue("ues", "number of UEs", o.ues);
    line.AddValue("traffic", "udp (constant rate) or tcp (bulk)", o.traffic);
    line.AddValue("rlc", "um or am", o.rlc);
    line.AddValue("positions", "CSV with columns ue,x_m,y_m,...; without it all UEs stand at --distance", o.positions);
    line.AddValue("sites", "CSV with columns site,x_m,y_m,...; without it one eNB stands at the origin", o.sites);
    line.AddValue("distance", "distance of the UEs without --positions, m", o.distance);
    line.AddValue("rb", "resource blocks", o.resourceBlocks);
    line.AddValue("duration", "simulated seconds", o.duration);
    line.AddValue("warmup", "steady goodput counts from here, s", o.warmup);
    line.AddValue("start", "flows start at, s", o.start);
    line.AddValue("offered", "UDP load over all UEs, Mbit/s", o.offeredMbps);
    line.AddValue("wan", "server to PGW delay, one way, ms", o.wanDelayMs);
    line.AddValue("rlcBuffer", "RLC transmit buffer, bytes", o.rlcBuffer);
    line.AddValue("payload", "UDP payload or TCP segment, bytes", o.payload);
    line.AddValue("tcpBuffer", "TCP socket buffers, bytes", o.tcpBuffer);
    line.AddValue("congestion", "ns-3 TCP type", o.congestion);
    line.AddValue("scheduler", "pf or rr", o.scheduler);
    line.AddValue("fading", "fading trace in ns-3's format, 100 RB x 10 s by 1 ms (default: no fading)", o.fading);
    line.AddValue("statusProhibit", "RLC AM t-StatusProhibit, ms", o.statusProhibitMs);
    line.AddValue("run", "ns-3 run number (RngRun)", o.run);
    line.AddValue("meter", "also report mean MCS, first-transmission BLER and SINR (costs speed)", o.meter);
    line.Parse(argc, argv);
    if (o.traffic != "udp" && o.traffic != "tcp")
    {
        Refuse("--traffic is '" + o.traffic + "'; it must be udp or tcp");
    }
    if (o.rlc != "um" && o.rlc != "am")
    {
        Refuse("--rlc is '" + o.rlc + "'; it must be um or am");
    }
    if (o.scheduler != "pf" && o.scheduler != "rr")
    {
        Refuse("--scheduler is '" + o.scheduler + "'; it must be pf or rr");
    }
    if (o.ues == 0 || o.warmup >= o.duration)
    {
        Refuse("--ues must be at least 1 and --warmup below --duration");
    }
    return o;
}

/** The positions in a file, one for each row that begins with a digit. */
std::vector<Vector>
ReadPositions(const std::string& path)
{
    std::ifstream file(path);
    if (!file)
    {
        Refuse("cannot read " + path);
    }
    std::vector<Vector> at;
    std::string row;
    while (std::getline(file, row))
    {
        std::istringstream cells(row);
        std::string name, x, y;
        std::getline(cells, name, ',');
        std::getline(cells, x, ',');
        std::getline(cells, y, ',');
        if (name.empty() || !std::isdigit(static_cast<unsigned char>(name[0])))
        {
            continue; // heading or comment
        }
        at.emplace_back(std::stod(x), std::stod(y), 0.0);
    }
    if (at.empty())
    {
        Refuse(path + " has no rows");
    }
    return at;
}

std::vector<Vector>
UePositions(const Options& o)
{
    if (o.positions.empty())
    {
        return std::vector<Vector>(o.ues, Vector(o.distance, 0, 0));
    }
    std::vector<Vector> at = ReadPositions(o.positions);
    if (at.size() < o.ues)
    {
        Refuse(o.positions + " has " + std::to_string(at.size()) + " rows, --ues asks for " + std::to_string(o.ues));
    }
    at.resize(o.ues);
    return at;
}

std::vector<Vector>
SitePositions(const Options& o)
{
    return o.sites.empty() ? std::vector<Vector>{Vector(0, 0, 0)} : ReadPositions(o.sites);
}

/** The UEs of the cell with the most, each in the nearest one. */
uint32_t
MostUesOfACell(const std::vector<Vector>& sites, const std::vector<Vector>& ues)
{
    std::vector<uint32_t> count(sites.size());
    for (const Vector& ue : ues)
    {
        const auto nearer = [&](const Vector& a, const Vector& b) {
            return CalculateDistance(a, ue) < CalculateDistance(b, ue);
        };
        ++count[std::min_element(sites.begin(), sites.end(), nearer) - sites.begin()];
    }
    return *std::max_element(count.begin(), count.end());
}

/** ns-3 refuses more UEs than the SRS period has subframes (3GPP periods: 40, 80, 160, 320 ms). */
uint32_t
SrsPeriodMs(uint32_t ues)
{
    for (uint32_t period : {40u, 80u, 160u, 320u})
    {
        if (ues < period)
        {
            return period;
        }
    }
    Refuse("ns-3 carries at most 319 UEs in a cell");
}

void
SetDefaults(const Options& o)
{
    RngSeedManager::SetRun(o.run);
    Config::SetDefault("ns3::LteEnbPhy::TxPower", DoubleValue(30));
    Config::SetDefault("ns3::LteEnbPhy::NoiseFigure", DoubleValue(5));
    Config::SetDefault("ns3::LteUePhy::TxPower", DoubleValue(10));
    Config::SetDefault("ns3::LteUePhy::NoiseFigure", DoubleValue(7));
    Config::SetDefault("ns3::LteAmc::AmcModel", EnumValue(LteAmc::MiErrorModel));
    Config::SetDefault("ns3::LteEnbRrc::SrsPeriodicity", UintegerValue(SrsPeriodMs(MostUesOfACell(SitePositions(o), UePositions(o)))));
    Config::SetDefault("ns3::LteEnbRrc::EpsBearerToRlcMapping",
                       EnumValue(o.rlc == "um" ? LteEnbRrc::RLC_UM_ALWAYS : LteEnbRrc::RLC_AM_ALWAYS));
    Config::SetDefault("ns3::LteRlcUm::MaxTxBufferSize", UintegerValue(o.rlcBuffer));
    Config::SetDefault("ns3::LteRlcAm::MaxTxBufferSize", UintegerValue(o.rlcBuffer));
    Config::SetDefault("ns3::LteRlcAm::StatusProhibitTimer", TimeValue(MicroSeconds(int64_t(o.statusProhibitMs * 1e3))));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::" + o.congestion));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(o.payload));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(o.tcpBuffer));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(o.tcpBuffer));
}

/** Mean MCS of the data transport blocks, their first-transmission error rate and the mean SINR, from the warm-up on. */
class RadioMeter
{
  public:
    explicit RadioMeter(double warmup)
        : m_from(Seconds(warmup))
    {
    }

    void Listen(const NetDeviceContainer& enb, const NetDeviceContainer& ues)
    {
        for (auto cell = enb.Begin(); cell != enb.End(); ++cell)
        {
            DynamicCast<LteEnbNetDevice>(*cell)->GetMac()->TraceConnectWithoutContext(
                "DlScheduling",
                MakeCallback(&RadioMeter::Scheduled, this));
        }
        for (auto ue = ues.Begin(); ue != ues.End(); ++ue)
        {
            DynamicCast<LteUeNetDevice>(*ue)->GetPhy()->GetDlSpectrumPhy()->TraceConnectWithoutContext(
                "DlPhyReception",
                MakeCallback(&RadioMeter::Received, this));
            DynamicCast<LteUeNetDevice>(*ue)->GetPhy()->TraceConnectWithoutContext(
                "ReportCurrentCellRsrpSinr",
                MakeCallback(&RadioMeter::Measured, this));
        }
    }

    double MeanMcs() const
    {
        return m_blocks ? m_mcsSum / m_blocks : 0.0;
    }

    double FirstBler() const
    {
        return m_first ? double(m_firstLost) / m_first : 0.0;
    }

    double MeanSinrDb() const
    {
        return m_samples ? 10 * std::log10(m_sinrSum / m_samples) : 0.0;
    }

  private:
    // Blocks of up to 60 bytes carry RLC status and RRC messages, not user data.
    static constexpr uint16_t CONTROL_BLOCK = 60;

    void Scheduled(DlSchedulingCallbackInfo block)
    {
        if (Simulator::Now() >= m_from && block.sizeTb1 > CONTROL_BLOCK)
        {
            m_mcsSum += block.mcsTb1;
            ++m_blocks;
        }
    }

    void Received(PhyReceptionStatParameters block)
    {
        if (Simulator::Now() >= m_from && block.m_size > CONTROL_BLOCK && block.m_rv == 0)
        {
            ++m_first;
            m_firstLost += block.m_correctness ? 0 : 1;
        }
    }

    void Measured(uint16_t cell, uint16_t rnti, double rsrp, double sinr, uint8_t carrier)
    {
        if (Simulator::Now() >= m_from)
        {
            m_sinrSum += sinr;
            ++m_samples;
        }
    }

    Time m_from;
    double m_mcsSum = 0;
    double m_sinrSum = 0;
    uint64_t m_samples = 0;
    uint64_t m_blocks = 0;
    uint64_t m_first = 0;
    uint64_t m_firstLost = 0;
};

/** Processor time of this process so far, s. */
double
ProcessorSeconds()
{
    rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_utime.tv_sec + used.ru_stime.tv_sec + 1e-6 * (used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

class Cell
{
  public:
    explicit Cell(const Options& options)
        : m_o(options),
          m_meter(options.warmup)
    {
        Place(SitePositions(m_o), UePositions(m_o));
        BuildRadio();
        BuildServer();
        for (uint32_t ue = 0; ue < m_o.ues; ++ue)
        {
            AddFlow(ue);
        }
        if (m_o.meter)
        {
            m_meter.Listen(m_enbDevices, m_ueDevices);
        }
    }

    void RunAndReport()
    {
        Simulator::Schedule(Seconds(m_o.warmup), &Cell::MarkWarm, this);
        Simulator::Stop(Seconds(m_o.duration));
        const double busy = ProcessorSeconds();
        const auto begin = std::chrono::steady_clock::now();
        Simulator::Run();
        const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
        Report(wall.count(), ProcessorSeconds() - busy);
    }

  private:
    void Place(const std::vector<Vector>& sites, const std::vector<Vector>& ues)
    {
        m_enb.Create(sites.size());
        m_ues.Create(m_o.ues);
        auto spots = CreateObject<ListPositionAllocator>();
        std::for_each(sites.begin(), sites.end(), [&](const Vector& v) { spots->Add(v); });
        std::for_each(ues.begin(), ues.end(), [&](const Vector& v) { spots->Add(v); });
        MobilityHelper mobility;
        mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
        mobility.SetPositionAllocator(spots);
        mobility.Install(NodeContainer(m_enb, m_ues));
    }

    void BuildRadio()
    {
        m_epc = CreateObject<PointToPointEpcHelper>();
        m_lte = CreateObject<LteHelper>();
        m_lte->SetEpcHelper(m_epc);
        m_lte->SetSchedulerType(m_o.scheduler == "pf" ? "ns3::PfFfMacScheduler" : "ns3::RrFfMacScheduler");
        m_lte->SetAttribute("PathlossModel", TypeIdValue(FriisPropagationLossModel::GetTypeId()));
        m_lte->SetEnbDeviceAttribute("DlBandwidth", UintegerValue(m_o.resourceBlocks));
        m_lte->SetEnbDeviceAttribute("UlBandwidth", UintegerValue(m_o.resourceBlocks));
        if (!m_o.fading.empty())
        {
            m_lte->SetFadingModel("ns3::TraceFadingLossModel");
            m_lte->SetFadingModelAttribute("TraceFilename", StringValue(m_o.fading));
            m_lte->SetFadingModelAttribute("TraceLength", TimeValue(Seconds(10)));
            m_lte->SetFadingModelAttribute("SamplesNum", UintegerValue(10000));
            m_lte->SetFadingModelAttribute("WindowSize", TimeValue(Seconds(0.5)));
            m_lte->SetFadingModelAttribute("RbNum", UintegerValue(100));
        }
        m_enbDevices = m_lte->InstallEnbDevice(m_enb);
        m_ueDevices = m_lte->InstallUeDevice(m_ues);
        m_stack.Install(m_ues);
        m_ueAddresses = m_epc->AssignUeIpv4Address(m_ueDevices);
        for (uint32_t ue = 0; ue < m_o.ues; ++ue)
        {
            Routes(m_ues.Get(ue))->SetDefaultRoute(m_epc->GetUeDefaultGatewayAddress(), 1);
        }
        m_lte->AttachToClosestEnb(m_ueDevices, m_enbDevices);
    }

    void BuildServer()
    {
        m_server = CreateObject<Node>();
        m_stack.Install(m_server);
        PointToPointHelper wan;
        wan.SetDeviceAttribute("DataRate", StringValue("100Gb/s"));
        wan.SetDeviceAttribute("Mtu", UintegerValue(1500));
        wan.SetChannelAttribute("Delay", TimeValue(MicroSeconds(int64_t(m_o.wanDelayMs * 1e3))));
        Ipv4AddressHelper addresses("1.0.0.0", "255.0.0.0");
        addresses.Assign(wan.Install(m_epc->GetPgwNode(), m_server));
        Routes(m_server)->AddNetworkRouteTo("7.0.0.0", "255.0.0.0", 1); // ns-3's pool of UE addresses
    }

    void AddFlow(uint32_t ue)
    {
        const bool udp = m_o.traffic == "udp";
        const std::string socket = udp ? "ns3::UdpSocketFactory" : "ns3::TcpSocketFactory";
        PacketSinkHelper sink(socket, InetSocketAddress(Ipv4Address::GetAny(), SINK_PORT));
        m_sinks.push_back(DynamicCast<PacketSink>(sink.Install(m_ues.Get(ue)).Get(0)));
        const Ipv4Address to = m_ueAddresses.GetAddress(ue);
        ApplicationContainer source;
        if (udp)
        {
            const double intervalNs = m_o.payload * 8e3 * m_o.ues / m_o.offeredMbps;
            UdpClientHelper client(to, SINK_PORT);
            client.SetAttribute("MaxPackets", UintegerValue(4294967295u));
            client.SetAttribute("PacketSize", UintegerValue(m_o.payload));
            client.SetAttribute("Interval", TimeValue(NanoSeconds(uint64_t(intervalNs))));
            source = client.Install(m_server);
        }
        else
        {
            BulkSendHelper bulk(socket, InetSocketAddress(to, SINK_PORT));
            bulk.SetAttribute("SendSize", UintegerValue(m_o.payload));
            source = bulk.Install(m_server);
        }
        source.Start(Seconds(m_o.start));
    }

    void MarkWarm()
    {
        m_warm = Received();
    }

    std::vector<uint64_t> Received() const
    {
        std::vector<uint64_t> bytes;
        for (const auto& sink : m_sinks)
        {
            bytes.push_back(sink->GetTotalRx());
        }
        return bytes;
    }

    void Report(double wall, double processor) const
    {
        const std::vector<uint64_t> end = Received();
        std::vector<double> steady;
        for (uint32_t ue = 0; ue < m_o.ues; ++ue)
        {
            steady.push_back((end[ue] - m_warm[ue]) * 8e-6 / (m_o.duration - m_o.warmup));
        }
        const uint64_t bytes = std::accumulate(end.begin(), end.end(), uint64_t{0});
        std::printf("{\"peer\": \"ns-3\", \"ues\": %u, \"traffic\": \"%s\", \"rlc\": \"%s\", \"rlc_buffer\": %u, "
                    "\"sim_s\": %.6g, \"wall_run_s\": %.6f, \"cpu_run_s\": %.6f, \"events\": %lu, \"goodput_total_mbps\": %.4f, "
                    "\"packets_delivered\": %lu, \"goodput_min_ue_mbps\": %.5f, \"goodput_max_ue_mbps\": %.5f",
                    m_o.ues,
                    m_o.traffic.c_str(),
                    m_o.rlc.c_str(),
                    m_o.rlcBuffer,
                    m_o.duration,
                    wall,
                    processor,
                    static_cast<unsigned long>(Simulator::GetEventCount()),
                    std::accumulate(steady.begin(), steady.end(), 0.0),
                    static_cast<unsigned long>(bytes / m_o.payload),
                    *std::min_element(steady.begin(), steady.end()),
                    *std::max_element(steady.begin(), steady.end()));
        if (m_o.meter)
        {
            std::printf(", \"mcs_mean\": %.3f, \"bler_first\": %.5f, \"sinr_mean_db\": %.2f",
                        m_meter.MeanMcs(),
                        m_meter.FirstBler(),
                        m_meter.MeanSinrDb());
        }
        std::printf("}\n");
    }

    static Ptr<Ipv4StaticRouting> Routes(Ptr<Node> node)
    {
        return Ipv4StaticRoutingHelper().GetStaticRouting(node->GetObject<Ipv4>());
    }

    const Options& m_o;
    Ptr<PointToPointEpcHelper> m_epc;
    Ptr<LteHelper> m_lte;
    InternetStackHelper m_stack;
    NodeContainer m_enb;
    NodeContainer m_ues;
    Ptr<Node> m_server;
    NetDeviceContainer m_enbDevices;
    NetDeviceContainer m_ueDevices;
    Ipv4InterfaceContainer m_ueAddresses;
    std::vector<Ptr<PacketSink>> m_sinks;
    std::vector<uint64_t> m_warm;
    RadioMeter m_meter;
};

/** glibc's malloc maps and unmaps the megabyte buffers of ns-3's TCP over and over; keeping them is up to 2x faster. */
void
KeepBigBlocks()
{
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_TOP_PAD, 64 << 20);
}

} // namespace

int
main(int argc, char** argv)
{
    const Options options = Parse(argc, argv);
    KeepBigBlocks();
    SetDefaults(options);
    Cell cell(options);
    cell.RunAndReport();
    std::fflush(stdout);
    std::_Exit(0); // ns-3's tear-down takes seconds with many UEs and is not part of the run
}

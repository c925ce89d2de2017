// Where each CQI begins in ns-3's link adaptation by mutual information: the least flat SINR, to 0.01 dB, at which
// LteAmc gives a sub-band of so many resource blocks that CQI. Prints CSV. Written against the public API of ns-3.37.

#include <ns3/core-module.h>
#include <ns3/lte-module.h>
#include <ns3/spectrum-module.h>

#include <cmath>
#include <cstdio>

using namespace ns3;

namespace
{

constexpr int CQIS = 15;
constexpr double FROM_DB = -10.0;
constexpr double TO_DB = 30.0;
constexpr double STEP_DB = 0.01;

/** The CQI of the first sub-band where all resource blocks have this SINR. */
int
CqiAt(Ptr<LteAmc> amc, const SpectrumValue& like, double sinrDb, uint8_t rbgSize)
{
    SpectrumValue sinr(like);
    sinr = std::pow(10.0, sinrDb / 10.0);
    return amc->CreateCqiFeedbacks(sinr, rbgSize).front();
}

} // namespace

int
main(int argc, char** argv)
{
    Config::SetDefault("ns3::LteAmc::AmcModel", EnumValue(LteAmc::MiErrorModel));
    Ptr<LteAmc> amc = CreateObject<LteAmc>();
    // EARFCN 100, 25 resource blocks; the first sub-band is whole at each size.
    const Ptr<SpectrumModel> model = LteSpectrumValueHelper::GetSpectrumModel(100, 25);
    const SpectrumValue like(model);
    std::printf("rbg_size,cqi,snr_db\n");
    for (uint8_t rbgSize = 1; rbgSize <= 4; ++rbgSize)
    {
        int reached = 0;
        for (int step = 0; reached < CQIS && FROM_DB + step * STEP_DB <= TO_DB; ++step)
        {
            const double sinrDb = FROM_DB + step * STEP_DB;
            for (const int cqi = CqiAt(amc, like, sinrDb, rbgSize); reached < cqi;)
            {
                ++reached;
                std::printf("%d,%d,%.2f\n", rbgSize, reached, sinrDb);
            }
        }
    }
    return 0;
}

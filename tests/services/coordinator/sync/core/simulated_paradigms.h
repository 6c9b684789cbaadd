#ifndef PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_SIMULATED_PARADIGMS_H_
#define PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_SIMULATED_PARADIGMS_H_

#include <cctype>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/job/paradigm_spec.h"

namespace paceline {

// The paradigms under which jobs are simulated, with the largest gap that each
// of them allows. A new one needs a line here.
inline const std::vector<std::pair<std::string, std::optional<int64_t>>>&
SimulatedParadigms() {
  static const auto& paradigms =
      *new std::vector<std::pair<std::string, std::optional<int64_t>>>{
          {"bsp", 1},
          {"bsp:steal=true,pieces=4", std::nullopt},
          {"bsp:steal=true,pieces=4,fill=true", std::nullopt},
          {"asp", std::nullopt},
          {"ssp:s=0", 1},
          {"ssp:s=3", 4},
          {"dssp:lower=1,upper=4", std::nullopt},
          {"dssp:lower=1,upper=4,mode=printed", std::nullopt},
          {"dssp:lower=1,upper=4,mode=exact,interval=busy,rule=causal",
           std::nullopt},
          {"dssp:lower=1,upper=4,mode=bounded", 5},
          {"dssp:lower=0,upper=3,mode=bounded,fastest=within:2", 4},
          {"asp:staleness_weight=inverse,staleness_cap=6", std::nullopt},
          {"asp:staleness_weight=exponential,staleness_cap=9", std::nullopt},
          {"saps", std::nullopt},
          {"saps:mode=damp", std::nullopt},
          {"saps:mode=drop,starve_limit=3", std::nullopt},
          {"saps:s=2,sync_every=6", std::nullopt},
          {"ksync:k=2", std::nullopt},
          {"kbatchsync:k=3", std::nullopt},
          {"backup:b=1", std::nullopt},
          {"kasync:k=2", std::nullopt},
          {"kasync:k=2,staleness_weight=inverse,staleness_cap=1", std::nullopt},
          {"kbatchasync:k=3", std::nullopt},
          {"ksync:k=auto,k0=1", std::nullopt},
          {"kbatchasync:k=auto", std::nullopt},
          {"psp:beta=1,s=2,seed=7", std::nullopt},
          {"elastic:r=5", std::nullopt},
          {"abs:pieces=4", std::nullopt},
          {"cgp:warmup_rounds=1,regroup_every=4", std::nullopt},
          {"cgp:warmup_rounds=1,beta=0.5,patience=1,drift=0", std::nullopt},
          {"cgp:warmup_rounds=1,stale_weight=inverse,s_max=3", std::nullopt},
          {"syncswitch:first=bsp,then=asp,at=0.3,straggler=leave",
           std::nullopt},
          {"syncswitch:at=0.7,straggler=drop", std::nullopt},
          {"syncswitch:first=bsp,then=ssp:s=1,at=0.3", std::nullopt}};
  return paradigms;
}

// The same bounds, by FormatParadigm().
inline const std::map<std::string, int64_t>& SimulatedBounds() {
  static const auto& bounds = *[] {
    auto* by_name = new std::map<std::string, int64_t>;
    for (const auto& [text, gap] : SimulatedParadigms()) {
      if (gap) by_name->emplace(FormatParadigm(*ParseParadigm(text)), *gap);
    }
    return by_name;
  }();
  return bounds;
}

// "ssp_s_3", for the name of a test.
inline std::string ParadigmName(std::string spec) {
  for (char& c : spec) {
    if (!isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return spec;
}

}  // namespace paceline

#endif  // PACELINE_TESTS_SERVICES_COORDINATOR_SYNC_CORE_SIMULATED_PARADIGMS_H_

#include "services/coordinator/sync/paradigms/policy_spec.h"

#include <utility>
#include <variant>

#include "common/overloaded.h"
#include "services/coordinator/sync/paradigms/abs_sgd.h"
#include "services/coordinator/sync/paradigms/asp.h"
#include "services/coordinator/sync/paradigms/bsp.h"
#include "services/coordinator/sync/paradigms/cgp/cgp.h"
#include "services/coordinator/sync/paradigms/dssp.h"
#include "services/coordinator/sync/paradigms/elastic_bsp.h"
#include "services/coordinator/sync/paradigms/k_async.h"
#include "services/coordinator/sync/paradigms/k_sync.h"
#include "services/coordinator/sync/paradigms/psp.h"
#include "services/coordinator/sync/paradigms/saps.h"
#include "services/coordinator/sync/paradigms/ssp.h"
#include "services/coordinator/sync/paradigms/staleness_aware.h"
#include "services/coordinator/sync/paradigms/sync_switch.h"

namespace paceline {
namespace {

using PolicyPtr = std::unique_ptr<SyncPolicy>;

template <class Policy, class... Arguments>
PolicyPtr Make(Arguments&&... arguments) {
  return std::make_unique<Policy>(std::forward<Arguments>(arguments)...);
}

}  // namespace

PolicyPtr MakePolicy(const PlainParadigm& plain) {
  PolicyPtr policy = std::visit(
      Overloaded{
          [](const BspOptions&) { return Make<Bsp>(); },
          [](const AspOptions&) { return Make<Asp>(); },
          [](const SspOptions& o) { return Make<Ssp>(o.s); },
          [](const DsspOptions& o) { return Make<Dssp>(o); },
          [](const SapsOptions& o) { return Make<Saps>(o); },
          [](const CgpOptions& o) { return Make<Cgp>(o); },
          [](const KSyncOptions& o) { return Make<KSync>(o.mode, o.number); },
          [](const KAsyncOptions& o) { return Make<KAsync>(o.mode, o.k); },
          [](const PspOptions& o) { return Make<Psp>(o); },
          [](const ElasticBspOptions& o) { return Make<ElasticBsp>(o.r); },
          [](const AbsSgdOptions& o) { return Make<AbsSgd>(o.pieces); }},
      plain.options);
  if (!plain.staleness.active()) return policy;
  return Make<StalenessAware>(std::move(policy), plain.staleness);
}

PolicyPtr MakePolicy(const ParadigmSpec& spec) {
  return std::visit(
      Overloaded{[](const PlainParadigm& plain) { return MakePolicy(plain); },
                 [](const SyncSwitchOptions& options) {
                   return Make<SyncSwitch>(options);
                 }},
      spec.kind);
}

}  // namespace paceline

#ifndef PACELINE_SERVICES_WORKER_PULL_FORECAST_H_
#define PACELINE_SERVICES_WORKER_PULL_FORECAST_H_

#include <cstdint>
#include <optional>

namespace paceline {

// Foretells what the worker's next grant will have its pull wait for, so that
// the question is with the servers before the grant is with the worker. Under
// the rules with rounds of all workers that is the next closing, each time.
// Looks at the grants alone, so that it needs no word of any rule.
// Thread-compatible.
class PullForecast {
 public:
  // The closing that the next grant will probably name; nothing while the
  // latest grants do not tell.
  std::optional<int64_t> Next() const;

  // A grant has come. Returns whether weights after the closing that Next()
  // named before are what it asks for: it names that closing, and no update was
  // counted since the last grant but that closing.
  bool Take(int64_t closing, int64_t base_version);

 private:
  std::optional<int64_t> closing_;  // The last grant's.
  int64_t base_version_ = 0;
  int regular_ = 0;  // Grants in a row that named the next closing.
  int needed_ = 2;   // So many to believe in another one.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_WORKER_PULL_FORECAST_H_

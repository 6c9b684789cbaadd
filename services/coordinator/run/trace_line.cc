#include "services/coordinator/run/trace_line.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace paceline {

std::string TraceLine(absl::string_view worker, int64_t iteration,
                      uint32_t samples, const v1::PhaseSeconds& seconds) {
  using Json = nlohmann::ordered_json;
  const Json line = {{"worker", std::string(worker)},
                     {"iteration", iteration},
                     {"samples", samples},
                     {"load", seconds.load()},
                     {"compute", seconds.compute()},
                     {"push", seconds.push()},
                     {"pull", std::max(0.0, seconds.pull() - seconds.parked())},
                     {"parked", seconds.parked()},
                     {"wait", seconds.wait()}};
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace paceline

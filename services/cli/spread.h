#ifndef PACELINE_SERVICES_CLI_SPREAD_H_
#define PACELINE_SERVICES_CLI_SPREAD_H_

#include <string>
#include <vector>

#include "services/cli/json_fields.h"

namespace paceline {

// The median of several runs, and between which values they lie. A time is
// infinite for a run that never came there: that is later than all others.
struct Spread {
  double median = 0;
  double min = 0;
  double max = 0;
};

// Of an even number of values it is the mean of the two in the middle.
// REQUIRES: there is a value.
double MedianOf(std::vector<double> values);

// REQUIRES: there is a value.
Spread SpreadOf(const std::vector<double>& values);

// "12.31 (11.02-13.50)"; the median alone where all three look the same. What
// is infinite is "never".
std::string FormatSpread(const Spread& spread, int digits);

// {"median", "min", "max"}; what is infinite is null.
Json SpreadJson(const Spread& spread);

}  // namespace paceline

#endif  // PACELINE_SERVICES_CLI_SPREAD_H_

#ifndef PACELINE_COMMON_JOB_NORMALIZATION_H_
#define PACELINE_COMMON_JOB_NORMALIZATION_H_

#include <vector>

#include "absl/strings/string_view.h"

namespace paceline {

// What brings one channel's bytes to about zero mean and unit variance:
// (byte / 255 - mean) / deviation.
struct Normalization {
  float mean = 0;       // The mean of byte / 255.
  float deviation = 1;  // The standard deviation of byte / 255.

  friend bool operator==(const Normalization&, const Normalization&) = default;
};

// What built-in models want of the images of this JobSpec.data, by channel; one
// stands for all channels of drawn images. Of a data set as a whole, or its
// splits would not look alike. Empty for what a program reads, and for a text
// that names no data set.
std::vector<Normalization> NormalizationOf(absl::string_view data);

}  // namespace paceline

#endif  // PACELINE_COMMON_JOB_NORMALIZATION_H_

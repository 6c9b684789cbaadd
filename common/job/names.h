#ifndef PACELINE_COMMON_JOB_NAMES_H_
#define PACELINE_COMMON_JOB_NAMES_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace paceline {

// The models that there are, without what computes them: whoever only checks a
// name needs no layers.
inline constexpr absl::string_view kLogreg = "logreg";
inline constexpr absl::string_view kMlp = "mlp";
inline constexpr absl::string_view kLenet5 = "lenet5";
inline constexpr absl::string_view kAlexnetSmall = "alexnet-small";
inline constexpr absl::string_view kResnet20 = "resnet20";
inline constexpr absl::string_view kResnet32 = "resnet32";
inline constexpr absl::string_view kResnet50 = "resnet50";
inline constexpr absl::string_view kResnet110 = "resnet110";
inline constexpr absl::string_view kResnet20V2 = "resnet20v2";
inline constexpr absl::string_view kResnet32V2 = "resnet32v2";
inline constexpr absl::string_view kResnet50V2 = "resnet50v2";
inline constexpr absl::string_view kResnet110V2 = "resnet110v2";

// All of them, in the order in which they are listed to people.
absl::Span<const absl::string_view> ModelNames();

// INVALID_ARGUMENT, with the names that there are, unless `name` is one.
absl::Status CheckModelName(absl::string_view name);

// What stands before the name of a program, where others name a model: such a
// job trains what a process of its user computes.
inline constexpr absl::string_view kProgramPrefix = "program:";

// NAME of the model "program:NAME", whatever it looks like; nothing if the
// model is none of a program.
std::optional<absl::string_view> ProgramOf(absl::string_view model);

// The kinds of data that there are, without what loads them: whoever only
// checks a spec needs no loader.
inline constexpr absl::string_view kMnist = "mnist";
inline constexpr absl::string_view kCifar10 = "cifar10";
inline constexpr absl::string_view kCifar100 = "cifar100";
inline constexpr absl::string_view kSynthetic = "synthetic";

// How they are named, for messages and help.
inline constexpr absl::string_view kDataForms =
    "mnist:DIR, cifar10:DIR, cifar100:DIR or synthetic:NAME";

// What may stand behind a DIR of CIFAR's, as ",augment=NAME". Training images
// are cropped at random, and half of them are mirrored. kCropFlip pads images
// by four pixels, and crops to the size that they had. kCrop28Flip pads
// nothing, and crops to 28x28; test images are the centre of as much.
inline constexpr absl::string_view kCropFlip = "crop_flip";
inline constexpr absl::string_view kCrop28Flip = "crop28_flip";

// The NAMEs of synthetic:NAME.
inline constexpr absl::string_view kShapes = "shapes";
inline constexpr absl::string_view kTiny = "tiny";
inline constexpr absl::string_view kColorShapes = "color-shapes";

// The data of a program: it is told which samples, by their positions, or only
// how many.
inline constexpr absl::string_view kProgramData = "program";
inline constexpr absl::string_view kStreamData = "stream";

// INVALID_ARGUMENT, with what there is, unless `name` is a synthetic data set.
absl::Status CheckSyntheticName(absl::string_view name);

// What a data spec names. Holds views into it.
struct DataSpec {
  absl::string_view kind;     // kMnist, kCifar10, kCifar100 or kSynthetic.
  absl::string_view place;    // The DIR, or the NAME.
  absl::string_view augment;  // kCropFlip or kCrop28Flip; empty: none.
};

// Reads one of kDataForms; of cifar10 and cifar100 also with ",augment=" and
// one of the augments behind the DIR. A DIR may have commas, but not
// ",augment=". INVALID_ARGUMENT, with what would be right, for anything else,
// also for a NAME that there is not. Whether a DIR holds the data only its
// machine can tell.
absl::StatusOr<DataSpec> ParseDataSpec(absl::string_view spec);
absl::Status CheckDataSpec(absl::string_view spec);

}  // namespace paceline

#endif  // PACELINE_COMMON_JOB_NAMES_H_

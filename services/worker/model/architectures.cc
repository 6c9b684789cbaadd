#include "services/worker/model/architectures.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/job/names.h"
#include "common/status.h"
#include "services/worker/model/chain.h"
#include "services/worker/model/model.h"

namespace paceline {
namespace {

FeatureShape Images(const ImageShape& input) {
  return {.layout = Layout::kImages,
          .channels = input.channels,
          .height = input.height,
          .width = input.width};
}

// The two convolutions of a residual block (He et al. 2015, figure 2, left).
Chain ResidualBranch(const FeatureShape& input, const std::string& name,
                     int64_t channels, int64_t stride) {
  ConvOptions conv{.channels = channels,
                   .kernel = 3,
                   .stride = stride,
                   .pad = 1,
                   .bias = false};
  Chain branch(input);
  branch.Conv(absl::StrCat(name, ".conv1"), conv)
      .BatchNorm(absl::StrCat(name, ".bn1"))
      .Relu();
  conv.stride = 1;
  branch.Conv(absl::StrCat(name, ".conv2"), conv)
      .BatchNorm(absl::StrCat(name, ".bn2"));
  return branch;
}

// What residual networks for small images begin with (He et al. 2015, section
// 4.2).
Chain ResidualStem(const ImageShape& input) {
  Chain net(Images(input));
  net.ToPlanes()
      .Conv("conv1", {.channels = 16, .kernel = 3, .pad = 1, .bias = false})
      .BatchNorm("bn1")
      .Relu();
  return net;
}

// And what they end with.
void PoolAndClassify(Chain& net, int classes) {
  net.AveragePool(std::min(net.output().height, net.output().width))
      .Flatten()
      .Logits("fc", classes);
}

// A block of such a network, which has three stages of them.
struct ResidualBlock {
  std::string name;  // "block2_1"
  int64_t channels = 0;
  int64_t stride = 1;
  bool first = false;  // Of all.
};

std::vector<ResidualBlock> ResidualBlocks(int of_each_stage) {
  std::vector<ResidualBlock> blocks;
  blocks.reserve(3 * static_cast<size_t>(of_each_stage));
  for (int stage = 1; stage <= 3; ++stage) {
    for (int block = 1; block <= of_each_stage; ++block) {
      blocks.push_back({.name = absl::StrCat("block", stage, "_", block),
                        .channels = int64_t{8} << stage,
                        .stride = stage > 1 && block == 1 ? 2 : 1,
                        .first = blocks.empty()});
    }
  }
  return blocks;
}

// A residual network for small images, 6 * kBlocks + 2 layers deep (He et al.
// 2015, section 4.2).
template <int kBlocks>
Chain BuildResnet(const ImageShape& input, int classes) {
  Chain net = ResidualStem(input);
  for (const ResidualBlock& block : ResidualBlocks(kBlocks)) {
    net.Residual(ResidualBranch(net.output(), block.name, block.channels,
                                block.stride),
                 block.stride)
        .Relu();
  }
  PoolAndClassify(net, classes);
  return net;
}

// The branch of a residual block whose convolutions come last (He et al. 2016,
// figure 1, right). What goes into the first one is normalized already.
Chain PreActivationBranch(const FeatureShape& input, const std::string& name,
                          int64_t channels, int64_t stride, bool first) {
  ConvOptions conv{.channels = channels,
                   .kernel = 3,
                   .stride = stride,
                   .pad = 1,
                   .bias = false};
  Chain branch(input);
  if (!first) branch.BatchNorm(absl::StrCat(name, ".bn1")).Relu();
  branch.Conv(absl::StrCat(name, ".conv1"), conv)
      .BatchNorm(absl::StrCat(name, ".bn2"))
      .Relu();
  conv.stride = 1;
  branch.Conv(absl::StrCat(name, ".conv2"), conv);
  return branch;
}

// The same networks with nothing but sums from block to block (He et al. 2016,
// "Identity Mappings in Deep Residual Networks"): the first block takes what is
// activated right behind conv1, and the last sum is activated by itself, as in
// the appendix there. Where a block changes the size, the shortcut has no
// parameters, as in BuildResnet.
template <int kBlocks>
Chain BuildPreActivationResnet(const ImageShape& input, int classes) {
  Chain net = ResidualStem(input);
  for (const ResidualBlock& block : ResidualBlocks(kBlocks)) {
    net.Residual(PreActivationBranch(net.output(), block.name, block.channels,
                                     block.stride, block.first),
                 block.stride);
  }
  net.BatchNorm("bn_last").Relu();
  PoolAndClassify(net, classes);
  return net;
}

Chain BuildLogreg(const ImageShape& input, int classes) {
  Chain net(Images(input));
  net.Logits("fc", classes);
  return net;
}

Chain BuildMlp(const ImageShape& input, int classes) {
  Chain net(Images(input));
  net.Dense("fc1", 256).Relu();
  net.Dense("fc2", 128).Relu();
  net.Logits("fc3", classes);
  return net;
}

// LeNet-5 as it is used today (LeCun et al., "Gradient-Based Learning Applied
// to Document Recognition", 1998, with max pools, ReLU and softmax). Made for
// 32x32; the 28x28 of MNIST are padded to it. The ReLUs stand behind the pools
// because they commute, exactly, and have a quarter of the work there.
Chain BuildLenet5(const ImageShape& input, int classes) {
  const int64_t pad = std::min(input.height, input.width) < 32 ? 2 : 0;
  Chain net(Images(input));
  net.ToPlanes();
  net.Conv("conv1", {.channels = 6, .kernel = 5, .pad = pad}).MaxPool(2).Relu();
  net.Conv("conv2", {.channels = 16, .kernel = 5}).MaxPool(2).Relu();
  net.Flatten();
  net.Dense("fc1", 120).Relu();
  net.Dense("fc2", 84).Relu();
  net.Logits("fc3", classes);
  return net;
}

// AlexNet cut down for small images to three convolutions and two dense
// layers, as in the DSSP paper (Zhao et al. 2019, section V), which leaves the
// widths open. As in AlexNet most parameters are in the first dense layer.
Chain BuildAlexnetSmall(const ImageShape& input, int classes) {
  Chain net(Images(input));
  net.ToPlanes();
  net.Conv("conv1", {.channels = 32, .kernel = 5, .pad = 2}).MaxPool(2).Relu();
  net.Conv("conv2", {.channels = 32, .kernel = 5, .pad = 2}).MaxPool(2).Relu();
  net.Conv("conv3", {.channels = 64, .kernel = 5, .pad = 2}).MaxPool(2).Relu();
  net.Flatten();
  net.Dense("fc1", 512).Relu();
  net.Logits("fc2", classes);
  return net;
}

}  // namespace

const std::vector<Architecture>& Architectures() {
  static const auto* const all = new std::vector<Architecture>{
      {kLogreg, 1, BuildLogreg},
      {kMlp, 1, BuildMlp},
      {kLenet5, 12, BuildLenet5},
      {kAlexnetSmall, 16, BuildAlexnetSmall},
      {kResnet20, 8, BuildResnet<3>},
      {kResnet32, 8, BuildResnet<5>},
      {kResnet50, 8, BuildResnet<8>},
      {kResnet110, 8, BuildResnet<18>},
      {kResnet20V2, 8, BuildPreActivationResnet<3>},
      {kResnet32V2, 8, BuildPreActivationResnet<5>},
      {kResnet50V2, 8, BuildPreActivationResnet<8>},
      {kResnet110V2, 8, BuildPreActivationResnet<18>},
  };
  return *all;
}

absl::StatusOr<std::unique_ptr<Model>> Model::Create(
    absl::string_view name, const ImageShape& input, int classes,
    Backend* backend, int batch_max, DType wire, Model* original) {
  PACELINE_RETURN_IF_ERROR(CheckModelName(name));
  for (const Architecture& architecture : Architectures()) {
    if (architecture.name != name) continue;
    const int side = architecture.side_min;
    if (input.channels < 1 || input.height < side || input.width < side) {
      return absl::InvalidArgumentError(absl::StrCat(
          "model ", name, " needs images of at least ", side, "x", side,
          ", the data has ", input.channels, "x", input.height, "x",
          input.width, " (channels x height x width)"));
    }
    if (classes < 2 || classes > 256) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a model needs between 2 and 256 classes, the data has ", classes));
    }
    if (batch_max < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("a batch needs at least 1 sample, not ", batch_max));
    }
    return FromChain(architecture.build(input, classes), backend, batch_max,
                     wire, original);
  }
  CHECK(false);  // A name without an architecture.
}

}  // namespace paceline

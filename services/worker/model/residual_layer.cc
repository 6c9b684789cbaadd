#include "services/worker/model/residual_layer.h"

#include <utility>

#include "common/check.h"

namespace paceline {

ResidualLayer::ResidualLayer(Chain branch, int64_t stride)
    : Layer(branch.output()), branch_(std::move(branch)), stride_(stride) {
  CHECK(branch_.input().layout == Layout::kPlanes);
  const ShortcutShape shape = ShapeOf(1);
  CHECK(shape.out_height() == output().height);
  CHECK(shape.out_width() == output().width);
}

ShortcutShape ResidualLayer::ShapeOf(int64_t batch) const {
  return {.batch = batch,
          .in_channels = branch_.input().channels,
          .out_channels = output().channels,
          .height = branch_.input().height,
          .width = branch_.input().width,
          .stride = stride_,
          .activation = activation_};
}

ReluTaken ResidualLayer::TakeRelu() {
  activation_ = Activation::kRelu;
  return ReluTaken::kForward;
}

void ResidualLayer::Forward(const Pass& pass, DeviceView x, DeviceSpan y) {
  branch_.Forward(pass, x, y);
  pass.backend.AddShortcut(ShapeOf(pass.batch), x, y);
}

void ResidualLayer::Backward(const Pass& pass, DeviceView x, DeviceView dy,
                             DeviceSpan dx) {
  branch_.Backward(pass, x, dy, dx);
  if (!dx.empty()) {
    pass.backend.AddShortcutGradient(ShapeOf(pass.batch), dy, dx);
  }
}

}  // namespace paceline

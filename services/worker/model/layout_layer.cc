#include "services/worker/model/layout_layer.h"

#include "common/check.h"

namespace paceline {
namespace {

FeatureShape Planes(const FeatureShape& input) {
  CHECK(input.layout == Layout::kImages);
  FeatureShape planes = input;
  planes.layout = Layout::kPlanes;
  return planes;
}

FeatureShape Flat(const FeatureShape& input) {
  CHECK(input.layout == Layout::kPlanes);
  return {.layout = Layout::kFlat, .channels = input.size()};
}

}  // namespace

ToPlanesLayer::ToPlanesLayer(const FeatureShape& input)
    : Layer(Planes(input)) {}

void ToPlanesLayer::Forward(const Pass& pass, DeviceView x, DeviceSpan y) {
  pass.backend.SwapLeading(pass.batch, output().channels,
                           output().height * output().width, x, y);
}

void ToPlanesLayer::Backward(const Pass& pass, DeviceView /*x*/, DeviceView dy,
                             DeviceSpan dx) {
  if (dx.empty()) return;
  pass.backend.SwapLeading(output().channels, pass.batch,
                           output().height * output().width, dy, dx);
}

FlattenLayer::FlattenLayer(const FeatureShape& input)
    : Layer(Flat(input)), input_(input) {}

void FlattenLayer::Forward(const Pass& pass, DeviceView x, DeviceSpan y) {
  pass.backend.SwapLeading(input_.channels, pass.batch,
                           input_.height * input_.width, x, y);
}

void FlattenLayer::Backward(const Pass& pass, DeviceView /*x*/, DeviceView dy,
                            DeviceSpan dx) {
  if (dx.empty()) return;
  pass.backend.SwapLeading(pass.batch, input_.channels,
                           input_.height * input_.width, dy, dx);
}

}  // namespace paceline

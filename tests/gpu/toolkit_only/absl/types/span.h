#ifndef PACELINE_TESTS_GPU_TOOLKIT_ONLY_SPAN_H_
#define PACELINE_TESTS_GPU_TOOLKIT_ONLY_SPAN_H_

#include <span>

namespace absl {

template <class T>
using Span = std::span<T>;

template <class Container>
auto MakeSpan(Container& container) {
  return std::span(container.data(), container.size());
}

}  // namespace absl

#endif  // PACELINE_TESTS_GPU_TOOLKIT_ONLY_SPAN_H_

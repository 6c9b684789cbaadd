#ifndef PACELINE_COMMON_OVERLOADED_H_
#define PACELINE_COMMON_OVERLOADED_H_

namespace paceline {

// One callable out of several lambdas, for std::visit.
template <class... Callables>
struct Overloaded : Callables... {
  using Callables::operator()...;
};
template <class... Callables>
Overloaded(Callables...) -> Overloaded<Callables...>;

}  // namespace paceline

#endif  // PACELINE_COMMON_OVERLOADED_H_

#ifndef PACELINE_SERVICES_PARAMETER_SERVER_UPDATE_KERNELS_H_
#define PACELINE_SERVICES_PARAMETER_SERVER_UPDATE_KERNELS_H_

#include <cstddef>

namespace paceline {

// The loops of the parameter server. Each reads `count` gradients as they lie
// in the transport's buffer (fp32, unaligned) and reads and writes every array
// of the state once. The state read and the state written are either the same
// arrays or do not overlap at all; `gradient` overlaps neither.

// The arrays of one block's state from some element on. `first` and `second`
// are the momentum and, if it is delayed, what it is to take up, or Adam's
// moments m and v; null where unused.
struct StateIn {
  const float* weights;
  const float* first;
  const float* second;
};
struct StateOut {
  float* weights;
  float* first;
  float* second;
};

// Coefficients of one SGD update: the step's direction is
// d = gradient * g + decay * w.
struct SgdTerms {
  float gradient;
  float decay;
  float momentum;
  float rate;
};

// w -= rate * d. Leaves `first` alone.
void SgdUpdate(const SgdTerms& terms, const char* gradient, size_t count,
               StateIn in, StateOut out);

// v = momentum * v + d;  w -= rate * v.
void MomentumUpdate(const SgdTerms& terms, const char* gradient, size_t count,
                    StateIn in, StateOut out);

// v = momentum * v + d;  w -= rate * (d + momentum * v). Nesterov's momentum as
// in Sutskever et al., ICML 2013, in the form that evaluates the gradient at w.
void NesterovUpdate(const SgdTerms& terms, const char* gradient, size_t count,
                    StateIn in, StateOut out);

// Delayed Nesterov momentum (Liu et al., 2024, arXiv 2401.09135, algorithm 3
// with c = 0), for updates from gradients that are stale. `share` is 1 / N,
// and `second` is what has come since the momentum was updated last.
//
// Each update but every N-th: the momentum stays, and moves nothing.
// z += d;  w -= rate * share * d.
void GatherForNesterov(const SgdTerms& terms, float share, const char* gradient,
                       size_t count, StateIn in, StateOut out);
// Every N-th: v = momentum * v + share * (z + d);  z = 0;
// w -= rate * (share * d + momentum * v).
void DelayedNesterovUpdate(const SgdTerms& terms, float share,
                           const char* gradient, size_t count, StateIn in,
                           StateOut out);

// Coefficients of one Adam or AdamW update.
struct AdamTerms {
  float gradient;       // Makes what was sent the mean gradient.
  float coupled_decay;  // Adam's L2 term, added to the gradient.
  float beta1;
  float beta2;
  float step;        // s * rate / (1 - beta1^t)
  float correction;  // 1 / (1 - beta2^t)
  float epsilon;
  float keep;  // 1 - s * rate * weight_decay for AdamW, 1 for Adam.
};

// With d = gradient * g + coupled_decay * w:
// m = beta1 * m + (1 - beta1) * d;  v = beta2 * v + (1 - beta2) * d^2;
// w = keep * w - step * m / (sqrt(correction * v) + epsilon).
// Adam: Kingma and Ba, ICLR 2015, algorithm 1. AdamW: Loshchilov and Hutter,
// ICLR 2019, algorithm 2.
void AdamUpdate(const AdamTerms& terms, const char* gradient, size_t count,
                StateIn in, StateOut out);

// stat += fraction * (scale * x - stat).
void StatisticUpdate(float fraction, float scale, const char* x, size_t count,
                     StateIn in, StateOut out);

// value = scale * x.
void ReplaceValues(float scale, const char* x, size_t count, StateOut out);

// gradient += lambda * gradient * gradient * (now - then): a first-order guess
// of the gradient at the weights `now` from the one at `then` (DC-ASGD; Zheng
// et al., ICML 2017, equation 10).
void CompensateDelay(float lambda, const float* now, const float* then,
                     size_t count, float* gradient);

// mean = memory * mean + (1 - memory) * gradient * gradient, with a square that
// no float can hold taken as the largest that can.
void UpdateMeanSquare(float memory, const float* gradient, size_t count,
                      float* mean);

// As CompensateDelay(), with a lambda for each element:
// lambda / sqrt(mean_square + 1e-7) (the same paper's DC-ASGD-a, and its
// constant).
void CompensateDelayAdaptively(float lambda, const float* now,
                               const float* then, const float* mean_square,
                               size_t count, float* gradient);

// How a gradient g lies to a momentum v, of the elements added up so far.
struct AlignmentSums {
  double dot = 0;  // g . v
  double gradient_square = 0;
  double momentum_square = 0;
};

// Adds `count` elements to `sums`.
void AddAlignment(const char* gradient, const float* momentum, size_t count,
                  AlignmentSums& sums);

// turned = keep * gradient + along * momentum. `turned` overlaps neither.
void TurnGradient(float keep, float along, const char* gradient,
                  const float* momentum, size_t count, float* turned);

// sum = factor * gradient: the first arrival, so that no pass zeroes the sum.
void BeginSum(float factor, const char* gradient, size_t count, float* sum);

// sum += factor * gradient.
void AddToSum(float factor, const char* gradient, size_t count, float* sum);

}  // namespace paceline

#endif  // PACELINE_SERVICES_PARAMETER_SERVER_UPDATE_KERNELS_H_

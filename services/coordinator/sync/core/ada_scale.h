#ifndef PACELINE_SERVICES_COORDINATOR_SYNC_CORE_ADA_SCALE_H_
#define PACELINE_SERVICES_COORDINATOR_SYNC_CORE_ADA_SCALE_H_

namespace paceline {

// How many updates of one batch an update of so many is worth, and so by how
// much its rate is higher: the gain ratio of AdaScale (Johnson, Agrawal, Gu and
// Guestrin, ICML 2020, "AdaScale SGD", section 3),
//
//   r = (S / B + |G|^2) / (S / (B x) + |G|^2),
//
// with x batches of B samples, the variance S of one sample's gradient and the
// expected gradient G. `noise` is S / (B |G|^2), how much larger than its
// gradient the noise of one batch is: 0 for gradients that are all alike, so
// that more of them say nothing more (1), and infinite where no gradient can be
// told from the noise, so that each counts in full (x). The gain lies between
// these two.
//
// Ours: it holds for less than a batch, too.
//
// REQUIRES: batches > 0, noise >= 0.
double AdaScaleGain(double batches, double noise);

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_SYNC_CORE_ADA_SCALE_H_

#ifndef PACELINE_SERVICES_COORDINATOR_RUN_COURSE_LOSS_WATCH_H_
#define PACELINE_SERVICES_COORDINATOR_RUN_COURSE_LOSS_WATCH_H_

#include <cstdint>
#include <string>
#include <vector>

namespace paceline {

// Finds a training whose loss has never fallen: with a learning rate that is
// too small or too large, labels that say nothing, or a dead model, a job uses
// up all of its samples and learns nothing.
//
// The mean loss of the first kFirst pushes is compared with the lowest mean of
// any later part of the training. Parts grow with the training, so that the
// lowest of many is not low by chance. Thread-compatible.
class LossWatch {
 public:
  // Pushes that make the first mean, and the smallest part.
  static constexpr int64_t kFirst = 20;
  // Fewer pushes than this say nothing.
  static constexpr int64_t kEnough = 100;
  // The loss has fallen once it has by this share of what it was at first, and
  // by three times what the batches' differences explain.
  static constexpr double kFall = 0.02;

  // The mean loss of a push, finite.
  void Pushed(double loss);

  // The loss of at least kEnough pushes has not fallen.
  bool Flat() const;
  // "2.31 in the first 20 pushes, at best 2.30 in a part of the 375 since".
  // REQUIRES: Flat().
  std::string Describe() const;

 private:
  // Pushes that follow each other.
  struct Part {
    int64_t pushes = 0;
    double sum = 0;
    double squares = 0;

    double mean() const { return sum / static_cast<double>(pushes); }
    void Add(const Part& other);
  };

  double Best() const;

  Part first_;
  int64_t size_ = kFirst;    // Of each part but the last.
  std::vector<Part> parts_;  // Since the first: fewer than kParts.
};

}  // namespace paceline

#endif  // PACELINE_SERVICES_COORDINATOR_RUN_COURSE_LOSS_WATCH_H_

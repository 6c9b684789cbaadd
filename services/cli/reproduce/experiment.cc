#include "services/cli/reproduce/experiment.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/job/job_defaults.h"

namespace paceline {
namespace {

constexpr char kDsspPaper[] =
    "Zhao, An, Liu, Chen: Dynamic Stale Synchronous Parallel Distributed "
    "Training for Deep Learning, ICDCS 2019 (arXiv 1908.11848)";
constexpr char kPrintedDssp[] = "dssp:lower=3,upper=15,mode=printed";

// What all experiments share.
constexpr char kVirtualTime[] =
    "time is virtual: gradients and updates are computed for real, and the "
    "clock is that of imitated devices";
constexpr char kFreeLinks[] =
    "links and servers cost no time, so that rules that send more lose nothing "
    "by it";
constexpr char kSamples[] =
    "the schedule counts samples, unless --schedule has count=updates; the "
    "paper's framework counts updates, so that an asynchronous run lowers its "
    "rate earlier";

// MXNet's example for CIFAR has batches of 128, a rate of 0.05 and its steps at
// epochs 200 and 250 of 300, as the paper has. It builds a ResNet-110 for
// images of 28x28 alone (example/image-classification, train_cifar10.py and
// symbols/resnet.py).
constexpr char kCrops[] =
    "with --full, training images are random windows of 28x28, half of them "
    "mirrored, and tested is the centre. The paper does not say so. It is "
    "inferred: the paper's framework is MXNet, its batches, rates and steps "
    "are those of MXNet's example for CIFAR, and that example's ResNets take "
    "28x28. The example also pads training images by four pixels before it "
    "crops them, and shifts their colours; that is not done here";

// What the comparison in docs/comparison.md trains.
ExperimentScale SmallTask() {
  return {.model = "lenet5",
          .data = "synthetic:shapes",
          .epochs = 3,
          .batch_size = 32,
          .learning_rate = kDefaultLearningRate,
          .schedule = std::string(kDefaultSchedule),
          .target_accuracies = {0.97}};
}

// The five kinds of clusters of docs/comparison.md.
std::vector<ExperimentCluster> FiveProfiles() {
  return {{.name = "uniform", .workers = 8},
          {.name = "1:1:1:4", .workers = 8, .profile = "ratio:1,1,1,4"},
          {.name = "four speeds",
           .workers = 8,
           .iteration_times = "1,1,1.3,1.3,1.7,1.7,2.9,2.9"},
          {.name = "bursts", .workers = 8, .profile = "bursts"},
          {.name = "exponential", .workers = 8, .profile = "exponential"}};
}

ExperimentRule AverageSsp(std::vector<std::string> published) {
  ExperimentRule rule = {.label = "SSP, mean of s=3..15",
                         .published = std::move(published)};
  for (int s = 3; s <= 15; ++s) {
    rule.paradigms.push_back(absl::StrCat("ssp:s=", s));
  }
  return rule;
}

// "Each worker is assigned a partition of the training data" (DSSP, III-C).
void AssignParts(Experiment& of) {
  of.full.data_assignment = of.reduced.data_assignment = "static";
}

Experiment DsspFigure3() {
  Experiment of = {
      .name = "dssp-fig3",
      .title = "Four equal workers under BSP, ASP, SSP and DSSP",
      .source = absl::StrCat(kDsspPaper,
                             ", section V-C, Figure 3a and 3b. The paper was "
                             "read in full; these figures are read off curves"),
      .published_columns = {"SECONDS", "ACCURACY"}};
  of.claims = {
      "On AlexNet, ASP, SSP and DSSP end about 13 % sooner than BSP, and BSP "
      "ends with the best accuracy",
      "On ResNet-50 and ResNet-110 BSP ends first (Figure 3c to 3f): see "
      "dssp-resnet"};
  of.clusters = {
      {.name = "equal workers", .workers = 4, .jitter = "normal:sd=0.05"}};
  of.rules = {{"BSP", {"bsp"}, {"~735", "~0.66"}},
              {"ASP", {"asp"}, {"~640", "0.62-0.635"}},
              AverageSsp({"~640", "0.62-0.635"}),
              {"DSSP s_L=3, r_max=12", {kPrintedDssp}, {"~640", "0.62-0.635"}}};
  of.full = {.model = "alexnet-small",
             .data = "cifar10:DIR",
             .epochs = 300,
             .batch_size = 128,
             .learning_rate = 0.001};
  of.reduced = SmallTask();
  of.reduced.epochs = 2;
  AssignParts(of);
  of.differences = {
      kVirtualTime, kFreeLinks,
      "a worker of the paper has four GPUs and sums their gradients",
      "iterations scatter by 5 %, which is a guess",
      "the paper shows the median of three runs: give --repeat 3"};
  return of;
}

// A round of BSP takes the computing and one update. Four pushes of the others
// take the computing and four updates: all push at once, and each pull waits
// for the updates that are queued. Of ResNet-50 these are 66 and 98 ms, so that
// an update takes 10 ms and the computing 56. Of ResNet-110 they are 148 and
// 220 ms: 24 and 124. That is 0.18 and 0.19 of the computing.
constexpr char kUpdateOfResnets[] = "190ms";

Experiment DsspResnet() {
  Experiment of = {
      .name = "dssp-resnet",
      .title = "Four equal workers, and servers for which an update takes long",
      .source = absl::StrCat(kDsspPaper,
                             ", section V-C, Figure 3c to 3f: ResNet-50 and "
                             "ResNet-110 on CIFAR-100. The paper was read in "
                             "full; these figures are read off curves"),
      .published_columns = {"RESNET-50 S", "RESNET-110 S"}};
  of.claims = {
      "On networks without large fully connected layers BSP has the most "
      "iterations a second, and ends first"};
  of.clusters = {{.name = "equal workers, updates of 0.19 iterations",
                  .workers = 4,
                  .jitter = "normal:sd=0.05",
                  .server_update_time = kUpdateOfResnets}};
  of.rules = {{"BSP", {"bsp"}, {"~1950", "~4350"}},
              {"ASP", {"asp"}, {"~2860", "~6450"}},
              AverageSsp({"~2860", "~6450"}),
              {"DSSP s_L=3, r_max=12", {kPrintedDssp}, {"~2860", "~6450"}}};
  of.full = {.model = "resnet110",
             .data = "cifar100:DIR,augment=crop28_flip",
             .epochs = 300,
             .batch_size = 128,
             .learning_rate = 0.05,
             .schedule = "step:at=0.666667|0.833333,factor=0.1"};
  of.reduced = SmallTask();
  of.reduced.epochs = 2;
  AssignParts(of);
  of.differences = {
      kVirtualTime,
      "the time of an update is worked out of the paper's own seconds, so that "
      "the ratio of BSP and ASP is no prediction; that one share of an "
      "iteration fits both networks is one, and that the others are like ASP",
      "links cost no time",
      kSamples,
      kCrops,
      "a worker of the paper has four GPUs and sums their gradients",
      "iterations scatter by 5 %, which is a guess"};
  return of;
}

Experiment DsspTable1() {
  Experiment of = {
      .name = "dssp-table1",
      .title = "Two workers of unequal speed, seconds to two accuracies",
      .source = absl::StrCat(kDsspPaper,
                             ", Table I: ResNet-110 on CIFAR-100, a GTX 1060 "
                             "and a GTX 1080 Ti. The paper was read in full"),
      .published_columns = {"TO 0.67", "TO 0.68"}};
  of.claims = {
      "DSSP reaches 0.67 2.04 times as soon as BSP and within 1 % of "
      "ASP; BSP and SSP s=3 never reach 0.68"};
  of.clusters = {{.name = "one worker twice as slow",
                  .workers = 2,
                  .iteration_times = "1,2",
                  .jitter = "normal:sd=0.02"}};
  of.rules = {{"BSP", {"bsp"}, {"6159.2", "never"}},
              {"ASP", {"asp"}, {"2993.1", "3017.2"}},
              {"SSP s=3", {"ssp:s=3"}, {"5678.2", "never"}},
              {"SSP s=6", {"ssp:s=6"}, {"5703.8", "6908.2"}},
              {"SSP s=15", {"ssp:s=15"}, {"5564.9", "7255.6"}},
              {"DSSP s_L=3, r_max=12", {kPrintedDssp}, {"3016.4", "3046.3"}}};
  of.full = {.model = "resnet110",
             .data = "cifar100:DIR,augment=crop28_flip",
             .epochs = 300,
             .batch_size = 128,
             .learning_rate = 0.05,
             .schedule = "step:at=0.666667|0.833333,factor=0.1",
             .target_accuracies = {0.67, 0.68}};
  of.reduced = SmallTask();
  of.reduced.target_accuracies = {0.97, 0.98};
  AssignParts(of);
  of.differences = {
      kVirtualTime, kFreeLinks, kSamples, kCrops,
      "the second worker takes twice as long and iterations scatter by 2 %, "
      "which are guesses: the paper has no times of iterations"};
  return of;
}

Experiment Cgp() {
  Experiment of = {
      .name = "cgp",
      .title = "CGP against BSP, ASP, SSP and DSSP on five kinds of clusters",
      .source =
          "Li, Tian, Xu, Zhao, Xu: Alleviating straggler impacts for data "
          "parallel deep learning with hybrid parameter update, FGCS 168 "
          "(2025) 107775. Only the abstract is public; the rule is our "
          "reading of it (docs/paradigms.md)"};
  of.claims = {
      "CGP is 1.94 times as fast as the other methods on average, and "
      "its accuracy is 16.8 % better than that of asynchronous ones"};
  of.clusters = FiveProfiles();
  of.rules = {{"BSP", {"bsp"}, {}},
              {"ASP", {"asp"}, {}},
              {"SSP s=3", {"ssp:s=3"}, {}},
              {"DSSP s_L=3, r_max=12", {kPrintedDssp}, {}},
              {"CGP", {"cgp"}, {}}};
  of.reduced = SmallTask();
  of.has_gain = true;
  of.gain = {.ours = 4,
             .others = {0, 1, 2, 3},
             .asynchronous = 1,
             .published_time = "1.94x on average",
             .published_accuracy = "16.8 %"};
  of.differences = {
      kVirtualTime, kFreeLinks,
      "the abstract names neither models nor data nor the other methods, nor "
      "whether 16.8 % are points: all of these are our choice"};
  return of;
}

Experiment Saps() {
  Experiment of = {
      .name = "saps",
      .title =
          "SaPS against BSP, ASP and variants of SGD on five kinds of "
          "clusters",
      .source =
          "Yu, Zhu, Chen, Cheng, Hu, Li: Accelerating Distributed Training in "
          "Heterogeneous Clusters via a Straggler-Aware Parameter Server, HPCC "
          "2019. Only the abstract and the references are public; the rule is "
          "our reading of it (docs/paradigms.md)"};
  of.claims = {
      "SaPS converges faster than fully synchronous, fully "
      "asynchronous and some variants of SGD; there is no figure"};
  of.clusters = FiveProfiles();
  of.rules = {{"BSP", {"bsp"}, {}},
              {"ASP", {"asp"}, {}},
              {"SSP s=3", {"ssp:s=3"}, {}},
              {"K-async k=2", {"kasync:k=2"}, {}},
              {"backup workers b=2", {"backup:b=2"}, {}},
              {"DynSGD", {"asp:staleness_weight=inverse"}, {}},
              {"SaPS", {"saps"}, {}}};
  of.reduced = SmallTask();
  of.has_gain = true;
  of.gain = {.ours = 6, .others = {0, 1, 2, 3, 4, 5}, .asynchronous = 1};
  of.differences = {
      kVirtualTime, kFreeLinks,
      "the variants are those that the paper cites; the abstract does not say "
      "which ones it measured, nor on what"};
  return of;
}

}  // namespace

const std::vector<Experiment>& Experiments() {
  static const std::vector<Experiment>* const all = new std::vector<Experiment>{
      DsspFigure3(), DsspResnet(), DsspTable1(), Cgp(), Saps()};
  return *all;
}

const Experiment* FindExperiment(absl::string_view name) {
  const auto found = std::ranges::find(Experiments(), name, &Experiment::name);
  return found == Experiments().end() ? nullptr : &*found;
}

}  // namespace paceline

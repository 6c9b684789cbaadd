#include "services/cli/admin/completion.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/job/names.h"
#include "common/job/paradigm_spec.h"
#include "services/cli/reproduce/experiment.h"

namespace paceline {
namespace {

using Live = Completion::Live;

// Values of flags, and of what stands without one, that are known beforehand or
// have to be asked for.
struct KnownValues {
  absl::string_view name;
  std::vector<absl::string_view> values;
  Live live = Live::kNone;
};

std::vector<absl::string_view> ParadigmsToChoose() {
  std::vector<absl::string_view> names = ParadigmNames();
  names.push_back(kAutoParadigm);
  return names;
}

// A built-in one, or the beginning of a program's.
std::vector<absl::string_view> ModelsToChoose() {
  std::vector<absl::string_view> names(ModelNames().begin(),
                                       ModelNames().end());
  names.push_back(kProgramPrefix);
  return names;
}

std::vector<absl::string_view> BuiltInModels() {
  return {ModelNames().begin(), ModelNames().end()};
}

std::vector<absl::string_view> ExperimentsToChoose() {
  std::vector<absl::string_view> names;
  for (const Experiment& experiment : Experiments()) {
    names.push_back(experiment.name);
  }
  return names;
}

const std::vector<KnownValues>& AllKnownValues() {
  static const auto* const kKnown = new std::vector<KnownValues>{
      {"--output", {"table", "wide", "csv", "json", "yaml", "name"}},
      {"--for",
       {"delete", "state=PENDING", "state=STARTING", "state=RUNNING",
        "state=PAUSING", "state=PAUSED", "state=SAVING", "state=CANCELLING",
        "state=SUCCEEDED", "state=FAILED", "state=CANCELLED"}},
      {"--state",
       {"pending", "starting", "running", "pausing", "paused", "saving",
        "cancelling", "succeeded", "failed", "cancelled"}},
      {"--paradigm", ParadigmsToChoose()},
      {"PARADIGM", ParadigmsToChoose()},
      {"SHELL", {"bash", "zsh"}},
      {"EXPERIMENT", ExperimentsToChoose()},
      {"--model", ModelsToChoose()},
      {"--train", BuiltInModels()},
      {"--data",
       {"synthetic:shapes", "synthetic:tiny", "synthetic:color-shapes",
        "mnist:", "cifar10:", "cifar100:", kProgramData, kStreamData}},
      {"--batching", {"even", "balanced"}},
      {"--data-assignment", {"dynamic", "static"}},
      {"--round-strength", {"linear", "sqrt", "constant", "adascale"}},
      {"--wire", {"fp32", "bf16", "fp16", "int8"}},
      {"--precision", {"fp32", "tf32", "bf16"}},
      {"--profile",
       {"uniform", "ratio:", "four-speeds", "bursts", "exponential"}},
      {"--job", {}, Live::kJobs},
      {"--context", {}, Live::kContexts},
      {"--checkpoint", {}, Live::kCheckpoints},
      {"--filename", {}, Live::kFiles},
      {"--out", {}, Live::kFiles},
      {"--directory", {}, Live::kFiles},
      {"--run-dir", {}, Live::kFiles},
      {"--record", {}, Live::kFiles},
      {"--runs", {}, Live::kFiles},
      {"--trace", {}, Live::kFiles},
      {"--plot", {}, Live::kFiles},
      {"--tensorboard", {}, Live::kFiles},
      {"--token-file", {}, Live::kFiles},
      {"--tls-ca", {}, Live::kFiles},
      {"--tls-cert", {}, Live::kFiles},
      {"--tls-key", {}, Live::kFiles},
  };
  return *kKnown;
}

Live LiveOfPositional(const std::string& name) {
  if (name == "JOB") return Live::kJobs;
  if (name == "WORKER") return Live::kWorkers;
  if (name == "SERVER") return Live::kServers;
  if (name == "CHECKPOINT") return Live::kCheckpoints;
  if (name == "CONTEXT") return Live::kContexts;
  if (name == "DIR") return Live::kFiles;
  return Live::kNone;
}

std::string LongName(const CLI::Option& option) {
  const std::vector<std::string>& names = option.get_lnames();
  return names.empty() ? option.get_name() : absl::StrCat("--", names[0]);
}

const CLI::App* FindCommand(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

const CLI::Option* FindFlag(const CLI::App& app, const std::string& word) {
  for (const CLI::Option* option : app.get_options({})) {
    if (option->nonpositional() && option->check_name(word)) return option;
  }
  return nullptr;
}

bool TakesValue(const CLI::Option& option) {
  return option.get_items_expected_max() > 0;
}

// Where the words before the last have led.
struct Place {
  const CLI::App* app = nullptr;
  const CLI::Option* awaits_value = nullptr;
  size_t positionals = 0;
};

Place Walk(const CLI::App& root, const std::vector<std::string>& words,
           Completion* completion) {
  Place place{.app = &root};
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    if (place.awaits_value != nullptr) {
      completion->flags[LongName(*place.awaits_value)] = word;
      place.awaits_value = nullptr;
      continue;
    }
    if (absl::StartsWith(word, "-")) {
      const size_t equals = word.find('=');
      const CLI::Option* flag = FindFlag(*place.app, word.substr(0, equals));
      if (flag == nullptr) continue;
      if (equals != std::string::npos) {
        completion->flags[LongName(*flag)] = word.substr(equals + 1);
      } else if (TakesValue(*flag)) {
        place.awaits_value = flag;
      } else {
        completion->flags[LongName(*flag)] = "true";
      }
      continue;
    }
    const CLI::App* command = FindCommand(*place.app, word);
    if (command != nullptr) {
      place.app = command;
    } else {
      ++place.positionals;
    }
  }
  return place;
}

void Offer(absl::string_view before, absl::string_view word,
           Completion* completion) {
  if (absl::StartsWith(word, completion->typed)) {
    completion->words.push_back(absl::StrCat(before, word));
  }
}

void OfferKnown(absl::string_view name, const CLI::Option& option,
                Completion* completion) {
  for (const KnownValues& known : AllKnownValues()) {
    if (known.name != name) continue;
    completion->live = known.live;
    for (absl::string_view value : known.values) {
      // Commands differ in the forms that they have; their help lists these.
      if (name == "--output" &&
          !absl::StrContains(option.get_description(), value)) {
        continue;
      }
      Offer(completion->before, value, completion);
    }
  }
}

void CompleteValue(const CLI::Option& flag, std::string before,
                   std::string typed, Completion* completion) {
  completion->typed = std::move(typed);
  completion->before = std::move(before);
  OfferKnown(LongName(flag), flag, completion);
}

void CompletePositional(const Place& place, Completion* completion) {
  std::vector<const CLI::Option*> positionals;
  for (const CLI::Option* option : place.app->get_options({})) {
    if (option->get_positional()) positionals.push_back(option);
  }
  if (positionals.empty()) return;
  // The last one may take several.
  const CLI::Option* option =
      positionals[std::min(place.positionals, positionals.size() - 1)];
  const bool full = place.positionals >= positionals.size() &&
                    positionals.back()->get_expected_max() <= 1;
  if (full) return;
  const std::string name = option->get_name(true);
  OfferKnown(name, *option, completion);
  if (completion->live == Live::kNone)
    completion->live = LiveOfPositional(name);
}

}  // namespace

Completion Complete(const CLI::App& root,
                    const std::vector<std::string>& words) {
  Completion completion;
  const Place place = Walk(root, words, &completion);
  const std::string last = words.empty() ? "" : words.back();
  completion.typed = last;
  const size_t equals = last.find('=');
  if (place.awaits_value != nullptr) {
    CompleteValue(*place.awaits_value, "", last, &completion);
  } else if (absl::StartsWith(last, "--") && equals != std::string::npos) {
    const CLI::Option* flag = FindFlag(*place.app, last.substr(0, equals));
    if (flag != nullptr) {
      CompleteValue(*flag, last.substr(0, equals + 1), last.substr(equals + 1),
                    &completion);
    }
  } else if (absl::StartsWith(last, "-")) {
    for (const CLI::Option* option : place.app->get_options({})) {
      for (const std::string& name : option->get_lnames()) {
        Offer("", absl::StrCat("--", name), &completion);
      }
    }
  } else {
    for (const CLI::App* command : place.app->get_subcommands({})) {
      // Without a group it is hidden.
      if (!command->get_group().empty()) {
        Offer("", command->get_name(), &completion);
      }
    }
    CompletePositional(place, &completion);
  }
  std::sort(completion.words.begin(), completion.words.end());
  return completion;
}

}  // namespace paceline

#include "services/cli/typed_flags.h"

namespace paceline {

TypedFlags TypedFlagsOf(const CLI::App& command) {
  TypedFlags typed;
  for (const CLI::Option* const option : command.get_options()) {
    if (option->count() > 0) typed.insert(option->get_name());
  }
  return typed;
}

}  // namespace paceline

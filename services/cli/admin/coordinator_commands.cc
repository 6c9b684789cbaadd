#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/rpc/coordinator_addresses.h"
#include "common/status.h"
#include "services/cli/admin/admin_commands.h"
#include "services/cli/admin/client.h"
#include "services/cli/admin/output/member_view.h"

namespace paceline {
namespace {

// One that is away must not hide the other one for long.
constexpr char kPatience[] = "5s";

// Of those that are named, the one that leads knows most.
absl::StatusOr<v1::ListCoordinatorsResponse> AskCoordinators(Session& session) {
  absl::StatusOr<v1::ListCoordinatorsResponse> best;
  absl::Status away;
  for (const auto& address :
       SplitCoordinatorAddresses(session.connection().address)) {
    PACELINE_ASSIGN_OR_RETURN(const auto client, session.ClientOf(address));
    auto answer = client->Call(&CoordinatorApi::ListCoordinators,
                               v1::ListCoordinatorsRequest());
    if (absl::IsCancelled(answer.status())) return answer.status();
    if (!answer.ok()) {
      if (!away.ok()) session.Note(away.message());
      away = answer.status();
      continue;
    }
    const bool leads =
        !answer->coordinators().empty() &&
        answer->coordinators(0).role() == v1::Coordinator::LEADER;
    if (leads || !best.ok()) best = *std::move(answer);
  }
  if (!best.ok()) return away;
  if (!away.ok()) session.Note(away.message());
  return best;
}

absl::Status ListCoordinators(Session& session, const CommonFlags& /*flags*/) {
  PACELINE_ASSIGN_OR_RETURN(const v1::ListCoordinatorsResponse response,
                            AskCoordinators(session));
  return session.PrintAll(
      Pointers(response.coordinators()), &response,
      [](const auto& coordinators, bool wide, absl::Time /*now*/) {
        return CoordinatorTable(coordinators, wide);
      });
}

struct PromoteFlags : CommonFlags {
  bool accept_loss = false;
};

absl::Status Promote(Session& session, const PromoteFlags& flags) {
  const std::string& address = session.connection().address;
  if (SplitCoordinatorAddresses(address).size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--address ", address,
        ": name the one coordinator that stands by and is to lead"));
  }
  if (flags.accept_loss) {
    PACELINE_RETURN_IF_ERROR(session.Confirm(
        "Is the coordinator that led before stopped, and will it stay so? What "
        "it promised and this one does not have is lost. Promote this one?"));
  }
  v1::PromoteCoordinatorRequest request;
  request.set_accept_loss(flags.accept_loss);
  PACELINE_ASSIGN_OR_RETURN(
      const v1::Coordinator promoted,
      session.Call(&CoordinatorApi::PromoteCoordinator, request));
  return session.PrintChanged(
      promoted, absl::StrCat("coordinator/", promoted.name(), " promoted"));
}

}  // namespace

void AddCoordinatorCommands(CLI::App& root, ChosenCommand& chosen) {
  CLI::App& coordinator = *root.add_subcommand(
      "coordinator", "Coordinators of the cluster: who leads, who stands by");
  coordinator.require_subcommand(1);
  const auto list = AddCommand<CommonFlags>(
      coordinator, "list", "List coordinators, the one that is asked first",
      chosen, &ListCoordinators);
  // The flag's own value wins.
  list.flags->connection.settings["request-timeout"] = kPatience;
  const auto promote = AddCommand<PromoteFlags>(
      coordinator, "promote",
      "Let the coordinator at --address, which stands by, lead", chosen,
      &Promote, {.yes = true});
  promote.app->add_flag("--accept-loss", promote.flags->accept_loss,
                        "Promote it even if changes are lost. First stop the "
                        "coordinator that led before. "
                        "Default: only if nothing is lost.");
}

}  // namespace paceline

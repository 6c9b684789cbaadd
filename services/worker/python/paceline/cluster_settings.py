"""Whom a client talks to, and how: the settings of the command `paceline`.

Each is taken from the first that has it: the arguments, the environment
(PACELINE_ADDRESS and so on), the context of the config file (docs/cli.md).
"""

from __future__ import annotations

import dataclasses
import os
import re
import stat
import typing

from paceline.api_errors import (ApiError, FailedPrecondition, InvalidArgument,
                                 NotFound, PermissionDenied)
from paceline.document_tree import (Mapping, Node, NoYaml, Scalar,
                                    parse_documents)
from paceline.durations import Duration, parse_duration

Environment = typing.Mapping[str, str]

# As the config file names them.
SETTINGS = ("address", "namespace", "tls-ca", "tls-cert", "tls-key",
            "tls-server-name", "token-file", "insecure-plaintext",
            "request-timeout")
_PATHS = frozenset({"tls-ca", "tls-cert", "tls-key", "token-file"})
_BYTES_MAX = 1 << 20
_NAME_MAX = 128  # Bytes of a context's name.
_CONTROLS = re.compile("[\x00-\x1f\x7f]")
_TIMEOUT_LEAST = 0.001  # Seconds.
_TIMEOUT_MOST = 24 * 3600.0


@dataclasses.dataclass
class ConfigFile:
    current_context: str = ""
    contexts: typing.Dict[str, typing.Dict[str, str]] = dataclasses.field(
        default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Connection:
    """Files are empty where none is named."""

    # "host:port"; of two coordinators both, "host:port,host:port".
    address: str = ""
    namespace: str = "default"
    namespace_given: bool = False  # As an argument.
    tls_ca: str = ""
    tls_cert: str = ""
    tls_key: str = ""
    tls_server_name: str = ""
    token_file: str = ""
    insecure_plaintext: bool = False
    request_timeout: float = 30.0  # Seconds, retries included.

    def at_each_address(self) -> typing.List["Connection"]:
        """The same, to each of the addresses alone."""
        return [dataclasses.replace(self, address=address)
                for address in self.address.split(",")]


def resolve_connection(
        arguments: typing.Mapping[str, typing.Union[None, bool, Duration]],
        context: typing.Optional[str] = None,
        config_file: typing.Optional[str] = None,
        environment: typing.Optional[Environment] = None) -> Connection:
    """The settings from the arguments (None: not given), the environment and
    the config file.

    Raises NotFound for a context that does not exist, InvalidArgument for a
    value or a file that is wrong.
    """
    environment = os.environ if environment is None else environment
    path = (config_file if config_file is not None
            else config_file_path(environment))
    config = read_config_file(path)
    settings = _chosen_context(context, environment, config)
    for name in SETTINGS:
        variable = environment.get(_variable_of(name), "")
        if variable:
            settings[name] = variable
        given = arguments.get(name)
        if given is not None:
            settings[name] = _text_of(given)
    return _from_settings(settings, arguments.get("namespace") is not None)


def config_file_path(environment: Environment) -> str:
    """PACELINE_CONFIG, else paceline/config.yaml in XDG_CONFIG_HOME or in
    ~/.config. Empty if none of them is set."""
    if environment.get("PACELINE_CONFIG"):
        return environment["PACELINE_CONFIG"]
    if environment.get("XDG_CONFIG_HOME"):
        return environment["XDG_CONFIG_HOME"] + "/paceline/config.yaml"
    home = environment.get("HOME", "")
    return home + "/.config/paceline/config.yaml" if home else ""


def read_config_file(path: str) -> ConfigFile:
    """The file at `path`, an empty one if there is none. Paths in it count
    from its folder."""
    if not path:
        return ConfigFile()
    try:
        text = read_small_file(path).decode()
    except NotFound:
        return ConfigFile()
    except UnicodeDecodeError:
        raise InvalidArgument(f"{path}: is no text in UTF-8") from None
    try:
        config = parse_config_file(text)
    except ValueError as error:
        raise InvalidArgument(f"{path}: {error}") from None
    folder = os.path.dirname(path)
    for settings in config.contexts.values():
        for name in _PATHS & settings.keys():
            if settings[name]:
                settings[name] = os.path.join(folder, settings[name])
    return config


def parse_config_file(text: str) -> ConfigFile:
    """Raises ValueError, with the line, for what is no config file."""
    try:
        documents = parse_documents(text)
    except NoYaml as error:
        raise ValueError(f"{error}, or write the file as JSON") from None
    if not documents or documents[0] == Scalar(None, documents[0].line):
        return ConfigFile()
    return _parse_root(documents[0])


def read_small_file(path: str) -> bytes:
    """A plain file of at most 1 MiB; errors as the API has them."""
    try:
        # Opening a pipe that nobody writes to must not block.
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise _file_error(path, error) from None
    with os.fdopen(file, "rb") as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            raise InvalidArgument(f"{path}: this is no ordinary file")
        try:
            content = opened.read(_BYTES_MAX + 1)
        except OSError as error:
            raise _file_error(path, error) from None
    if len(content) > _BYTES_MAX:
        raise InvalidArgument(f"{path}: the file is larger than 1 MiB")
    return content


def _file_error(path: str, error: OSError) -> ApiError:
    text = f"{path}: {error.strerror}"
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return NotFound(text)
    if isinstance(error, PermissionError):
        return PermissionDenied(text)
    return FailedPrecondition(text)


def _wrong(node: Node, what: str) -> ValueError:
    return ValueError(f"line {node.line}: {what}" if node.line else what)


def _parse_root(root: Node) -> ConfigFile:
    if not isinstance(root, Mapping):
        raise _wrong(root, "expected current-context and contexts")
    config = ConfigFile()
    for key, value in root.entries:
        name = _key(key)
        if name == "current-context" and isinstance(value, Scalar):
            config.current_context = value.text or ""
            if config.current_context:
                _check_context_name(value, config.current_context)
        elif name == "contexts" and isinstance(value, Mapping):
            for context, settings in value.entries:
                _check_context_name(context, _key(context))
                config.contexts[_key(context)] = _parse_context(settings)
        else:
            raise _wrong(key, f'"{name}": expected current-context: NAME or '
                              "contexts: {NAME: {...}}")
    return config


def _parse_context(node: Node) -> typing.Dict[str, str]:
    if not isinstance(node, Mapping):
        raise _wrong(node, "a context has settings")
    settings = {}
    for key, value in node.entries:
        name = _key(key)
        if name not in SETTINGS:
            raise _wrong(key, f'"{name}" is no setting; there are '
                              + ", ".join(SETTINGS))
        if not isinstance(value, Scalar):
            raise _wrong(value, f"{name} is a text")
        text = value.text or ""
        if _CONTROLS.search(text):
            raise _wrong(value, f"{name} has control characters")
        settings[name] = text
    return settings


def _key(node: Node) -> str:
    return node.text or "" if isinstance(node, Scalar) else ""


def _check_context_name(node: Node, name: str) -> None:
    if not 1 <= len(name.encode()) <= _NAME_MAX or _CONTROLS.search(name):
        raise _wrong(node, f"a context's name has 1 to {_NAME_MAX} bytes and "
                           "no control characters")


def _variable_of(setting: str) -> str:
    return "PACELINE_" + setting.upper().replace("-", "_")


def _text_of(value: typing.Union[bool, Duration]) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(
        parse_duration("request_timeout", value))


def _chosen_context(context: typing.Optional[str], environment: Environment,
                    config: ConfigFile) -> typing.Dict[str, str]:
    name, by = context, "context "
    if name is None:
        name, by = environment.get("PACELINE_CONTEXT", ""), "PACELINE_CONTEXT="
        if not name:
            name, by = config.current_context, "current-context: "
        if not name:
            return {}
    if name in config.contexts:
        return dict(config.contexts[name])
    names = ", ".join(sorted(config.contexts))
    raise NotFound(f"{by}{name}: the config file has no such context; "
                   + (f"it has {names}" if names else "it has none"))


def _from_settings(settings: typing.Mapping[str, str],
                   namespace_given: bool) -> Connection:
    def get(name: str) -> str:
        return settings.get(name, "")

    namespace = get("namespace") or "default"
    if "/" in namespace:
        raise InvalidArgument(
            f"namespace {namespace}: is a name without slashes")
    if bool(get("tls-cert")) != bool(get("tls-key")):
        raise InvalidArgument("tls_cert and tls_key need each other")
    timeout = 30.0
    if get("request-timeout"):
        try:
            timeout = parse_duration("request_timeout", get("request-timeout"))
        except ValueError as error:
            raise InvalidArgument(str(error)) from None
        if not _TIMEOUT_LEAST <= timeout <= _TIMEOUT_MOST:
            raise InvalidArgument(
                f"request_timeout {get('request-timeout')}: must be from 1ms "
                "to 24h")
    return Connection(
        address=get("address"), namespace=namespace,
        namespace_given=namespace_given, tls_ca=get("tls-ca"),
        tls_cert=get("tls-cert"), tls_key=get("tls-key"),
        tls_server_name=get("tls-server-name"), token_file=get("token-file"),
        insecure_plaintext=_parse_bool(get("insecure-plaintext")),
        request_timeout=timeout)


def _parse_bool(text: str) -> bool:
    if text.lower() in ("", "false", "0"):
        return False
    if text.lower() in ("true", "1"):
        return True
    raise InvalidArgument(
        f'insecure_plaintext "{text}": must be true or false')

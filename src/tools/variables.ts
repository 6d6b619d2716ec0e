/** Variables that make a program load or run code at its start. */
const LOADERS =
  "LD_.* DYLD_.* BASH_FUNC_.* BASH_ENV ENV SHELLOPTS BASHOPTS PS4 IFS PROMPT_COMMAND SHELL NODE_OPTIONS NODE_PATH PYTHONPATH " +
  "PYTHONHOME PYTHONSTARTUP PERL5LIB PERL5OPT RUBYLIB RUBYOPT GLIBC_TUNABLES GCONV_PATH GETCONF_DIR LOCPATH NLSPATH .*JAVA.*_OPTIONS MAKEFLAGS CC CXX " +
  "RUSTC.* LUA_INIT.* VIMINIT SSLKEYLOGFILE HOSTALIASES GIT_DIR GIT_WORK_TREE GIT_EXEC_PATH GIT_EDITOR GIT_EXTERNAL_DIFF " +
  // Git runs these values as programs, too.
  "GIT_SSL_.* GIT_SSH GIT_SSH_COMMAND GIT_PAGER GIT_SEQUENCE_EDITOR GIT_ASKPASS SSH_ASKPASS";

/**
 * Variables that decide which programs, servers, certificates and settings a command uses. The operator sets them,
 * never a call.
 */
const OPERATORS =
  "HOME PATH .*_PROXY NODE_TLS_REJECT_UNAUTHORIZED NODE_EXTRA_CA_CERTS SSL_CERT_.* EDITOR VISUAL PAGER XDG_.* SSH_AUTH_SOCK " +
  "DOCKER_.* KUBECONFIG PIP_.*INDEX.* UV_.*INDEX.* GOPROXY GIT_CONFIG.* NPM_CONFIG_.* TF_VAR_.* CARGO_REGISTRIES_.* OPENCLAW_.*";

const namesLike = (list: string): RegExp => new RegExp(`^(?:${list.replaceAll(" ", "|")})$`, "i");

/**
 * Names that are never passed on and never added, with this process's channel to its parent. `PATH` and `SHELL` are
 * made in `environment.ts`.
 */
export const NEVER = namesLike(`${LOADERS} NODE_CHANNEL_.* PATH`);
/** Names that are never added where the operator has the variable. */
export const NO_OVERRIDE = namesLike(OPERATORS);

/** Most bytes of one variable; a program's setting is shorter. */
export const MAX_VARIABLE_BYTES = 32_768;

/** Names of a call's variables that a command must not get, sorted. */
export const refusedNames = (env: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(env)
    .filter(
      ([name, value]) => !isSettable(name) || value.includes("\0") || Buffer.byteLength(value) > MAX_VARIABLE_BYTES,
    )
    .map(([name]) => name)
    .toSorted();

const isSettable = (name: string): boolean =>
  /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !NEVER.test(name) && !NO_OVERRIDE.test(name);

import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { mkdir } from "node:fs/promises";
import type { Command } from "commander";
import { OpenClawError } from "../../../types/errors.ts";
import { writeAtomic } from "../../../store/disk.ts";
import type { Io } from "../io.ts";

/** The names under which the program is called. */
const PROGRAMS = ["openclaw", "claw-gateway"];

/** The words that may follow a command: `words` by the command's words, joined by blanks; empty for the program itself. */
type Words = ReadonlyMap<string, readonly string[]>;

const SHELLS: Readonly<Record<string, (words: Words) => string>> = {
  bash: (words) => `# bash completion
_openclaw() {
  local path= word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; *)
      case "$path $word" in
${groupRows(words)}
      esac ;;
    esac
  done
  case "$path" in
${rows(words, (path, list) => `    "${path === "" ? "" : ` ${path}`}") COMPREPLY=($(compgen -W "${list}" -- "\${COMP_WORDS[COMP_CWORD]}")) ;;`)}
  esac
}
complete -o default -F _openclaw ${PROGRAMS.join(" ")}
`,
  zsh: (words) => `#compdef ${PROGRAMS.join(" ")}
_openclaw() {
  local path= word
  for word in "\${words[@]:1:$((CURRENT-2))}"; do
    case "$word" in -*) ;; *)
      case "$path $word" in
${groupRows(words)}
      esac ;;
    esac
  done
  case "$path" in
${rows(words, (path, list) => `    "${path === "" ? "" : ` ${path}`}") compadd -- ${list} ;;`)}
  esac
}
compdef _openclaw ${PROGRAMS.join(" ")}
`,
  fish: (words) =>
    `function __openclaw_words
${rows(words, (path, list) => `  if test "$argv" = "${path}"; printf '%s\\n' ${list}; return; end`)}
end
function __openclaw_complete
  set -l path
  for word in (commandline -opc)[2..-1]
    string match -q -- '-*' $word; and continue
    set -l next (string trim "$path $word")
    test -n "$(__openclaw_words $next)"; and set path $next
  end
  __openclaw_words "$path"
end
${PROGRAMS.map((name) => `complete -c ${name} -f -a '(__openclaw_complete)'`).join("\n")}
`,
  powershell: (words) => `$openclawWords = @{
${rows(words, (path, list) => `  '${path}' = '${list}'`)}
}
Register-ArgumentCompleter -Native -CommandName ${PROGRAMS.join(",")} -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $path = ''
  foreach ($element in $commandAst.CommandElements | Select-Object -Skip 1) {
    $next = ("$path " + $element.ToString()).Trim()
    if ($openclawWords.ContainsKey($next)) { $path = $next }
  }
  $openclawWords[$path].Split(' ') | Where-Object { $_ -like "$wordToComplete*" } | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}
`,
};

/** The rows of bash and zsh that follow the typed words to a command. */
const groupRows = (words: Words): string =>
  [...words.keys()]
    .filter((path) => path !== "")
    .map((path) => `        " ${path}") path=" ${path}" ;;`)
    .join("\n");

const rows = (words: Words, line: (path: string, list: string) => string): string =>
  [...words].map(([path, list]) => line(path, list.join(" "))).join("\n");

/** Prints the script of a shell, or writes it where the shell looks for it. Throws USAGE for a shell that is not known. */
export async function completion(
  io: Io,
  program: Command,
  { shell = basename(io.env["SHELL"] ?? "bash"), install }: { shell?: string | undefined; install: boolean },
): Promise<number> {
  const script = SHELLS[shell]?.(wordsOf(program));
  if (script === undefined)
    throw new OpenClawError("USAGE", {
      message: `There is no completion for ${shell}.`,
      fix: `The shells are: ${Object.keys(SHELLS).join(", ")}.`,
    });
  if (!install) {
    io.out(script, "data");
    return 0;
  }
  const places = placesOf(shell, io);
  for (const path of places) {
    await mkdir(dirname(path), { recursive: true });
    await writeAtomic(path, script);
    io.out(`Wrote ${path}\n`);
  }
  io.err("A new terminal completes commands and flags.\n");
  return 0;
}

/** The files that a shell loads when a command is completed. */
function placesOf(shell: string, { env }: Io): readonly string[] {
  const home = env["HOME"] ?? homedir();
  const data = env["XDG_DATA_HOME"] ?? join(home, ".local", "share");
  const config = env["XDG_CONFIG_HOME"] ?? join(home, ".config");
  if (shell === "bash") return PROGRAMS.map((name) => join(data, "bash-completion", "completions", name));
  if (shell === "fish") return PROGRAMS.map((name) => join(config, "fish", "completions", `${name}.fish`));
  throw new OpenClawError("USAGE", {
    message: `${shell} has no folder for completions of its own.`,
    fix:
      shell === "zsh"
        ? "Add to ~/.zshrc: source <(openclaw completion zsh)"
        : "Add to $PROFILE: openclaw completion powershell | Out-String | Invoke-Expression",
  });
}

function wordsOf(program: Command): Words {
  const words = new Map<string, readonly string[]>();
  const visit = (command: Command, path: readonly string[]): void => {
    const shown = command
      .createHelp()
      .visibleOptions(command)
      .flatMap(({ long }) => long ?? []);
    const children = command.commands.filter((child) => !isHidden(command, child));
    words.set(path.join(" "), [...children.map((child) => child.name()), ...shown]);
    for (const child of children) visit(child, [...path, child.name()]);
  };
  visit(program, []);
  return words;
}

const isHidden = (command: Command, child: Command): boolean =>
  !command.createHelp().visibleCommands(command).includes(child);

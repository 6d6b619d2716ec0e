import { own } from "../../../utils/own.ts";
import { namesOfProgram } from "./kinds.ts";

interface Escape {
  /** Options, long or of one letter, with or without a value in the same word. */
  readonly options: readonly string[];
  /** Words that are no options: subcommands, or parts of a program's own language. */
  readonly words?: RegExp;
}

const options = (text: string, words?: RegExp): Escape => ({
  options: text === "" ? [] : text.split(" "),
  ...(words && { words }),
});

/** Word that names a file with further arguments. */
const MORE_ARGUMENTS = /^@/;
/** Subcommands that start the program named after them. */
const STARTS_COMMAND = /^(?:run|exec|exec-.*|shell|plugins?)$/;

/** Arguments that make a program start another one, or read such an order from a file. */
const ESCAPES: Readonly<Record<string, Escape>> = {
  git: options(
    "-c --config-env --exec-path --upload-pack --receive-pack --exec -x -O --open-files-in-pager --ext-diff --textconv --extcmd " +
      "--tool --template --git-dir --work-tree -C --gpg-sign",
    /^(?:config|bisect|difftool|mergetool|filter-branch|submodule|hook|alias|daemon|instaweb|credential.*|send-email|web--browse|help|var|upload-pack|receive-pack)$|^ext::/,
  ),
  hg: options("--config --config-file -R --repository --cwd --remotecmd -e --ssh"),
  svn: options("--config-option --config-dir --diff-cmd --diff3-cmd --editor-cmd --merge-cmd"),
  tar: options(
    "--checkpoint-action --use-compress-program -I --to-command --info-script --new-volume-script -F --rsh-command --rmt-command " +
      // Lines of such a file that begin with a dash are options.
      "--files-from -T",
    // An archive on another machine.
    /^[^/]+:/,
  ),
  rsync: options("-e --rsh --rsync-path -M --remote-option --daemon --config --early-input", /^[^/]+:/),
  scp: options("-S -F -o -D -J"),
  sftp: options("-S -F -o -b -D -J -s"),
  curl: options("-K --config --engine --libcurl -o --output --netrc-file"),
  wget: options("-e --execute --config --use-askpass --input-file"),
  zip: options("-T --test -TT --unzip-command"),
  unzip: options("-p"),
  "7z": options("-so -si"),
  cpio: options("--rsh-command -F --file -I -O"),
  gcc: options("-wrapper -fplugin -specs --specs -B -no-integrated-cpp", MORE_ARGUMENTS),
  clang: options("-fplugin -Xclang -load --config -B", MORE_ARGUMENTS),
  ld: options("-plugin --plugin -T", MORE_ARGUMENTS),
  nm: options("--plugin", MORE_ARGUMENTS),
  javac: options("-processor -processorpath --processor-path -J -cp -classpath --class-path", MORE_ARGUMENTS),
  protoc: options("--plugin", MORE_ARGUMENTS),
  sdiff: options("--diff-program -o --output"),
  rg: options("--pre --pre-glob --hostname-bin -z --search-zip"),
  ag: options("--pager --search-zip -z"),
  ack: options("--pager --ackrc --env"),
  sort: options("--compress-program -o --output -T --temporary-directory --files0-from"),
  split: options("--filter"),
  install: options("--strip-program -s"),
  less: options("-o -O -k --lesskey-file --lesskey-src --log-file --LOG-FILE", /^\+/),
  more: options("-p", /^\+/),
  man: options("-P --pager -H --html -X -C --config-file -K -l --local-file --troff-device -T --preprocessor -p"),
  patch: options("-e --ed --get -g"),
  nmap: options("--script --script-args --resume --datadir"),
  tcpdump: options("-z -w -G"),
  openssl: options("-engine -provider -provider-path -config"),
  gpg: options("--photo-viewer --exec-path --keyserver-options --options --homedir --load-extension"),
  pandoc: options("-F --filter -L --lua-filter --pdf-engine --defaults -d"),
  ip: options("-b -batch --batch", /^(?:netns|exec|vrf)$/),
  apt: options("-o --option -c --config-file"),
  dpkg: options("--pre-invoke --post-invoke --status-logger --unpack -i --install"),
  rpm: options("--eval -E --pipe --define -D --load --macros"),
  fzf: options("--preview --bind --listen --print-command --with-shell"),
  logrotate: options("-m --mail -s --state"),
  ffmpeg: options("-filter_script -init_hw_device", /^(?:concat|subfile|async|tee):/),
  // Access to the environment, and to files that the command does not name.
  jq: options(
    "-L -f --from-file --rawfile --slurpfile --args-file",
    /\$ENV\b|\benv\b|\b(?:import|include|input_filename)\b/,
  ),
  yq: options("-i --inplace --from-file --expression-file", /\b(?:str)?env(?:subst)?\b|\bload(?:_\w+)?\b|\$ENV\b/),
  gh: options("", /^(?:alias|extensions?|ext|config|codespace|cs)$/),
  aws: options("", /^(?:configure|alias)$/),
  op: options("", STARTS_COMMAND),
  magick: options("-write -print", /^(?:msl|mvg|ephemeral|https?|label|text|caption|@)/),
};

/** Programs with the options of another one. */
const SAME: Readonly<Record<string, string>> = {
  bsdtar: "tar",
  gtar: "tar",
  star: "tar",
  "g++": "gcc",
  cc: "gcc",
  "c++": "gcc",
  cpp: "gcc",
  "clang++": "clang",
  ripgrep: "rg",
  "7za": "7z",
  "7zr": "7z",
  gpgv: "gpg",
  convert: "magick",
  mogrify: "magick",
  identify: "magick",
  "apt-get": "apt",
  gsort: "sort",
  gojq: "jq",
  jaq: "jq",
  glab: "gh",
  diff3: "sdiff",
  ...Object.fromEntries("ar ranlib strip objcopy objdump size".split(" ").map((name) => [name, "nm"])),
  ...Object.fromEntries(
    "doppler chamber aws-vault teller sops infisical vault nvm pyenv rbenv nodenv goenv jenv volta fnm rvm sdk"
      .split(" ")
      .map((name) => [name, "op"]),
  ),
};

/**
 * Whether a word is, or may contain, an option. A long option may be abbreviated, and letters may follow each other in
 * one word; a value may be in the same word.
 */
function isOption(word: string, option: string): boolean {
  const [flag = ""] = word.split("=");
  if (option.startsWith("--")) return flag.length > 2 && flag.startsWith("--") && option.startsWith(flag);
  if (option.length > 2) return flag === option || flag === `-${option}`;
  return /^-[^-]/.test(word) && word.slice(1).includes(option.slice(1));
}

/**
 * Whether the arguments may make a program start another program although that is not its purpose: `git -c`, `tar
 * --checkpoint-action`, `rsync -e`. The check errs on the side of true: it does not parse options as the program does.
 * Pure.
 */
export function hasEscape(word: string, args: readonly string[]): boolean {
  const plain = namesOfProgram(word)
    .map((name) => own(SAME, name) ?? name)
    .find((name) => own(ESCAPES, name) !== undefined);
  const escape = plain === undefined ? undefined : own(ESCAPES, plain);
  if (!escape) return false;
  const [first = "", ...rest] = args;
  // `tar xIf` is `tar -xIf`.
  const all = plain === "tar" && !first.startsWith("-") ? [`-${first}`, ...rest] : args;
  return all.some((arg) => escape.words?.test(arg) === true || escape.options.some((option) => isOption(arg, option)));
}

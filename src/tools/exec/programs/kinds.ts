import { basename } from "node:path";

const fileName = (word: string): string =>
  basename(word.replaceAll("\\", "/"))
    .toLowerCase()
    .replace(/\.exe$/, "");

/** The name of a program without directory, version and `.exe`: `/usr/bin/python3.11` is `python`. */
export function programName(word: string): string {
  const plain = fileName(word);
  return plain.replace(/(?<=[a-z])-?\d+(?:\.\d+)*$/, "") || plain;
}

/** Endings of script names. A script is a program of its own: `make.sh` is not `make`. */
const SCRIPT = /\.(?:sh|bash|zsh|py|m?js|cjs|ts|pl|rb|php|lua)$/;

/** Machine in the name of a compiler or of its tools, such as `x86_64-linux-gnu-`. */
const TARGET = /^\w+-(?:pc-|unknown-)?linux-\w+-(?=.)/;

/**
 * Names that mean the same program: `vim.tiny` and `bash-static` are `vim` and `bash`, `rbash` and `rvim` are
 * restricted forms.
 */
export function namesOfProgram(word: string): readonly string[] {
  const whole = fileName(word);
  const name = programName(whole).replace(TARGET, "");
  if (SCRIPT.test(name)) return [name];
  const stem = programName(name.split(/[.-]/)[0] ?? name);
  const mainName = /^[a-z]{2}/.test(stem) ? stem : name;
  return [whole, name, mainName, ...(/^r[a-z]/.test(mainName) ? [mainName.slice(1)] : [])];
}

/** A table of program names. Throws for an empty name, which a blank too many makes, and for one that is there twice. */
function words(...lines: readonly string[]): ReadonlySet<string> {
  const all = lines.join(" ").split(" ");
  const table = new Set(all);
  if (table.has("") || table.size < all.length) throw new Error(`a blank too many, or a name twice: ${lines[0]}`);
  return table;
}

/** Programs that run code from their arguments or their input. */
const INTERPRETERS = words(
  "sh bash dash zsh ksh mksh lksh pdksh oksh loksh yash posh sash bosh fish csh tcsh ash rc es osh ysh oil elvish nu xonsh pwsh",
  "powershell cmd busybox toybox python pypy ipython jython micropython perl raku ruby jruby irb pry erb node nodejs deno bun qjs",
  "gjs cjs js d8 rhino jrunscript php phpdbg lua luajit texlua tclsh wish jimsh expect awk gawk mawk nawk original-awk sed gsed ssed",
  "ed ex vi vim vimdiff view nvim neovim elvis nvi emacs emacsclient xemacs mg jed joe pico nano micro helix hx kak rscript r julia",
  "osascript elixir iex erl escript groovy java scala kotlin kotlinc clojure clj bb janet guile racket scheme mit-scheme chicken csi",
  "gosh chibi-scheme sbcl clisp ecl ccl gcl hy swift swipl gprolog yap ocaml ocamlrun ghc ghci runghc runhaskell stack cabal crystal",
  "nim dart pike rexx regina rebol gforth gst mono wine wasmtime wasmer node-gyp tsx ts-node jshell gdb lldb cdb radare rizin crash",
  "bpftrace stap dtrace m4 gm4 dc sqlite sqlite3 sqlcipher duckdb psql pgcli mysql mariadb mycli mysqlsh mongo mongosh isql",
  "sqlplus usql clickhouse clickhouse-client cqlsh gnuplot octave maxima gp sage sagemath magma gap matlab scilab bwbasic gs",
  "ghostscript gsc ps2pdf ps2ps pdf2ps dvips tex latex pdftex pdflatex luatex lualatex xetex xelatex context troff groff ditroff",
  "pic grap qemu",
);

/** Programs that run other programs, or code of the surrounding project, that the command does not name. */
const RUNNERS = words(
  "env xargs find gfind fd fdfind parallel sudo doas su nohup nice ionice setsid stdbuf time timeout watch script ssh flock chroot",
  "unshare eval exec source command builtin trap . make gmake bmake cmake ninja just task rake npm npx pnpm pnpx yarn bunx corepack",
  "pip pipx uv uvx poetry pdm hatch conda mamba cargo rustc go gradle gradlew mvn mvnw ant bazel buck mage tox nox pytest py.test",
  "unittest jest vitest mocha ava jasmine karma playwright cypress tsc eslint prettier webpack vite rollup parcel turbo nx lerna",
  "composer phpunit artisan bundle gem rspec dotnet msbuild xcodebuild docker docker-compose podman nerdctl kubectl helm terraform",
  "tofu ansible ansible-playbook vagrant packer pre-commit lefthook husky crontab at batch systemctl launchctl direnv mise asdf",
  "meson scons pylint flake8 mypy rubocop phpstan psalm phpcs stylelint commitlint gulp grunt babel esbuild rspack next nuxt astro ng",
  "gatsby expo ember storybook cucumber behave robot nose2 coverage scrapy django-admin flask uvicorn gunicorn hypercorn celery alembic",
  "invoke inv fab locust jupyter streamlit rails rackup puma unicorn thor mix rebar3 lein sbt mill spago dub zig nimble flutter",
  "xcrun fastlane pod pants earthly dagger tilt skaffold cdk sam serverless sls pulumi terragrunt salt puppet chef-client",
);

/** Programs whose arguments are another command. No row allows such a program: the row would allow every command. */
const WRAPPERS = words(
  "env xargs parallel sem rush sudo sudoedit doas pkexec su sg newgrp runuser runcon capsh nohup nice renice ionice setsid stdbuf",
  "unbuffer rlwrap time gtime timeout timelimit watch script ssh sshpass mosh autossh flock lckdo chroot fakechroot fakeroot proot",
  "unshare nsenter bwrap firejail setpriv setarch i386 linux32 linux64 uname26 x86_64 taskset numactl prlimit softlimit ulimit chrt",
  "schedtool choom uclampset coresched cpulimit cgexec nocache eatmydata eval exec source command builtin trap . busybox toybox",
  "systemd-run systemd-inhibit systemd-nspawn systemd-cat machinectl start-stop-daemon daemonize daemon chpst setuidgid envuidgid",
  "envdir runsv s6-setuidgid dbus-run-session dbus-launch xvfb-run xauth faketime strace ltrace perf valgrind gdbserver rr",
  "torsocks torify tsocks proxychains hyperfine entr watchexec run-parts chronic ifne pee mispipe vipe dotenv foreman",
  "honcho nix-shell nix guix distrobox toolbox apptainer singularity qemu ip openvt setlock catatonit tini dumb-init",
  "gosu su-exec login agetty getty tcpserver socat ncat nc netcat expect dtach abduco tmux screen",
);

/** Programs that start others because of an option, of a file that they read, or of a command typed in them. */
const STARTERS = words(
  "git hg svn cvs bzr fossil darcs tig lazygit gh glab act split install rsync scp sftp ftp lftp tftp telnet rsh rlogin curl wget",
  "gcc cc cpp clang tcc ld apt apt-get aptitude dpkg dnf yum rpm pacman apk brew snap flatpak fzf dialog patch tar bsdtar gtar star zip unzip 7z 7za 7zr rar unrar cpio pax ar view rview less more most pg",
  "man info lynx links w3m elinks mail mailx mutt neomutt sendmail zgrep zless zmore bzless xzless journalctl",
  "loginctl busctl dbus-send gdbus open xdg-open start nmap tcpdump tshark wireshark openssl gpg gpg2 convert magick mogrify identify",
  "ffmpeg sox mpv vlc mplayer pandoc sphinx-build hugo jekyll mkdocs xsltproc xmllint aws gcloud az vault op heroku mount umount",
  "losetup service init telinit ldd ldconfig logrotate slsh top htop iftop whiptail zenity xterm rxvt gnome-terminal konsole",
  "psftp plink mc ranger nnn vifm lf espeak cupsfilter lp lpr rundll32 regsvr32 mshta wmic certutil",
  "msgexec msgfilter msginit gapplication gio opt lli llc llvm nm ranlib objcopy strip javac javadoc jar jarsigner javap jdb jcmd jlink",
  "jmod jpackage jconsole jdeps jfr jhsdb jimage jinfo jmap jps jstack jstat keytool rmiregistry serialver systemd dbus hostnamectl",
  "localectl networkctl timedatectl pinentry",
);

/** The program that loads other programs: `/lib64/ld-linux-x86-64.so.2 /bin/sh`. */
const LOADER = /^(?:ld\.so|ld(?:32|64)?\.so|ld[-.](?:linux|musl|lsb|elf)?.*\.so|ld-musl|dyld)/;

const isIn = (kind: ReadonlySet<string>, word: string): boolean => namesOfProgram(word).some((name) => kind.has(name));

const isLoader = (word: string): boolean => LOADER.test(basename(word).toLowerCase());

export const isInterpreter = (word: string): boolean => isIn(INTERPRETERS, word);
export const isRunner = (word: string): boolean => isIn(RUNNERS, word) || isWrapper(word);

/**
 * Whether a program's arguments are another command, as those of `/usr/bin/env`. `busybox` counts too, since one file
 * may be many programs: the real path of a link to `busybox` has that name.
 */
export const isWrapper = (word: string): boolean => isIn(WRAPPERS, word) || isLoader(word) || word === ".";

/** Whether a program by this name may start another one, in any way. */
export const mayStartOthers = (word: string): boolean => isInterpreter(word) || isRunner(word) || isIn(STARTERS, word);

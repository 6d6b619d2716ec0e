/**
 * Numbers of a processor for the filter of system calls. The filter is a program for the kernel (classic BPF). It
 * refuses the calls that a sandboxed program may not make: a refused call uses a part of the kernel that commands do not
 * need, or acts outside the program's namespaces.
 */

interface Machine {
  /** The kernel's number for the instruction set. */
  readonly audit: number;
  readonly socket: number;
  readonly socketpair: number;
  readonly clone: number;
  /** Numbers of the calls that are refused. */
  readonly refused: readonly number[];
  /** Lowest number of a second set of calls (x32), refused as a whole. */
  readonly foreign?: number;
}

/**
 * The refused calls by name: calls that reach around a namespace, and `shmget` and `msgget`, whose memory no limit
 * counts.
 */
export const REFUSED = (
  "ptrace process_vm_readv process_vm_writev unshare setns mount umount2 pivot_root chroot open_tree move_mount fsopen fsconfig fsmount " +
  "fspick mount_setattr io_uring_setup io_uring_enter io_uring_register bpf add_key request_key keyctl perf_event_open userfaultfd " +
  "kexec_load kexec_file_load init_module finit_module delete_module open_by_handle_at swapon reboot syslog acct quotactl pidfd_getfd " +
  "shmget msgget"
).split(" ");

// Numbers of the calls in `REFUSED`, in the same order in both rows.
const X64 =
  "101 310 311 272 308 165 166 155 161 428 429 430 431 432 433 442 425 426 427 321 248 249 250 298 323 246 320 175 313 176 304 167 169 103 163 179 438 29 68";
const ARM64 =
  "117 270 271 97 268 40 39 41 51 428 429 430 431 432 433 442 425 426 427 280 217 218 219 241 282 104 294 105 273 106 265 224 142 116 89 60 438 194 186";

const numbers = (text: string): readonly number[] => text.split(" ").map(Number);

const MACHINES: Readonly<Record<string, Machine>> = {
  x64: { audit: 0xc000_003e, socket: 41, socketpair: 53, clone: 56, refused: numbers(X64), foreign: 0x4000_0000 },
  arm64: { audit: 0xc000_00b7, socket: 198, socketpair: 199, clone: 220, refused: numbers(ARM64) },
};

/** Number of the call on every machine. */
const CLONE3 = 435;
export const CLONE_NEWUSER = 0x1000_0000;
/**
 * Address families of the sockets that a program may open: IPv4, IPv6 and netlink, which lists the network's own
 * interfaces.
 */
export const FAMILIES = [2, 10, 16];

/** Bit in the types of sockets without a connection: `SOCK_DGRAM` and `SOCK_RAW`. */
export const DATAGRAM = 2;

export const EPERM = 1;
export const ENOSYS = 38;
export const EAFNOSUPPORT = 97;

const ALLOW = 0x7fff_0000;
const KILL_PROCESS = 0x8000_0000;
const fail = (errno: number): number => 0x0005_0000 | errno;

const LOAD = 0x20;
const IF_EQUAL = 0x15;
const IF_AT_LEAST = 0x35;
const IF_ANY_BIT = 0x45;
const RETURN = 0x06;

/**
 * Offsets at which the kernel puts the call's number, its instruction set, and the low halves of its first arguments.
 */
const NUMBER = 0;
const AUDIT = 4;
const FIRST_ARGUMENT = 16;
const SECOND_ARGUMENT = 24;

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

const load = (offset: number): Instruction => [LOAD, 0, 0, offset];
const giveBack = (value: number): Instruction => [RETURN, 0, 0, value];
/** Instructions that end with `value` when the comparison holds. */
const endIf = (code: number, operand: number, value: number): readonly Instruction[] => [
  [code, 0, 1, operand],
  giveBack(value),
];

function programFor({ audit, socket, socketpair, clone, refused, foreign }: Machine): readonly Instruction[] {
  const families = FAMILIES.flatMap((family) => endIf(IF_EQUAL, family, ALLOW));
  const ofSocket = [load(FIRST_ARGUMENT), ...families, giveBack(fail(EAFNOSUPPORT))];
  const ofPair = [load(SECOND_ARGUMENT), ...endIf(IF_ANY_BIT, DATAGRAM, fail(EAFNOSUPPORT)), giveBack(ALLOW)];
  const ofClone = [load(FIRST_ARGUMENT), ...endIf(IF_ANY_BIT, CLONE_NEWUSER, fail(EPERM)), giveBack(ALLOW)];
  return [
    load(AUDIT),
    [IF_EQUAL, 1, 0, audit],
    // Another instruction set has other numbers.
    giveBack(KILL_PROCESS),
    load(NUMBER),
    ...(foreign === undefined ? [] : endIf(IF_AT_LEAST, foreign, fail(ENOSYS))),
    ...refused.flatMap((number) => endIf(IF_EQUAL, number, fail(EPERM))),
    // The flags of `clone3` are in memory, which a filter cannot read; programs then use `clone`.
    ...endIf(IF_EQUAL, CLONE3, fail(ENOSYS)),
    [IF_EQUAL, 0, ofSocket.length, socket],
    ...ofSocket,
    // One end of a pair of datagram sockets can send to any other socket that has a name in the workspace.
    [IF_EQUAL, 0, ofPair.length, socketpair],
    ...ofPair,
    [IF_EQUAL, 0, ofClone.length, clone],
    ...ofClone,
    giveBack(ALLOW),
  ];
}

/** The filter in the form for `bwrap --seccomp`; undefined for a processor without known numbers. Pure. */
export function seccompFilter(arch: string): Uint8Array | undefined {
  const machine = Object.hasOwn(MACHINES, arch) ? MACHINES[arch] : undefined;
  if (!machine) return undefined;
  const program = programFor(machine);
  const bytes = new DataView(new ArrayBuffer(program.length * 8));
  for (const [index, [code, ifTrue, ifFalse, value]] of program.entries()) {
    const at = index * 8;
    bytes.setUint16(at, code, true);
    bytes.setUint8(at + 2, ifTrue);
    bytes.setUint8(at + 3, ifFalse);
    bytes.setUint32(at + 4, value >>> 0, true);
  }
  return new Uint8Array(bytes.buffer);
}

import { CLONE_NEWUSER, DATAGRAM, EAFNOSUPPORT, ENOSYS, EPERM, FAMILIES, REFUSED } from "../seccomp.ts";

interface Comparison {
  readonly index: number;
  readonly value: number;
  readonly valueTwo?: number;
  readonly op: "SCMP_CMP_EQ" | "SCMP_CMP_GT" | "SCMP_CMP_MASKED_EQ";
}

const refuse = (names: readonly string[], errnoRet: number, args: readonly Comparison[] = []) => ({
  names,
  action: "SCMP_ACT_ERRNO",
  errnoRet,
  args,
});

/** True when any of the bits is set. */
const hasBit = (index: number, bit: number): Comparison => ({
  index,
  value: bit,
  valueTwo: bit,
  op: "SCMP_CMP_MASKED_EQ",
});

const HIGHEST = Math.max(...FAMILIES);

/** A profile can only say which families are refused, one rule for each. */
const families = (): readonly Comparison[] => {
  const below = Array.from({ length: HIGHEST }, (_, family) => family).filter((family) => !FAMILIES.includes(family));
  return [
    ...below.map((value): Comparison => ({ index: 0, value, op: "SCMP_CMP_EQ" })),
    { index: 0, value: HIGHEST, op: "SCMP_CMP_GT" },
  ];
};

/**
 * The filter of system calls as docker and podman read it. It takes the place of the engine's own, which permits Unix sockets: by one in
 * the workspace a command could reach a program outside. Pure.
 */
export const seccompProfile = (): string =>
  JSON.stringify({
    defaultAction: "SCMP_ACT_ALLOW",
    syscalls: [
      refuse(REFUSED, EPERM),
      refuse(["clone3"], ENOSYS),
      refuse(["clone"], EPERM, [hasBit(0, CLONE_NEWUSER)]),
      refuse(["socketpair"], EAFNOSUPPORT, [hasBit(1, DATAGRAM)]),
      ...families().map((family) => refuse(["socket"], EAFNOSUPPORT, [family])),
    ],
  });

import { join } from "node:path";
import { z } from "zod";
import { replaceApprovals, shownApprovals } from "../../../store/exec-approvals-document.ts";
import { EXEC_APPROVALS_FILE } from "../../../tools/exec/rules/document.ts";
import { approvalAnswers, type ShownApprovals } from "../../../types/answers/approvals.ts";
import { OpenClawError } from "../../../types/errors.ts";
import { defineMethod, MethodError, type Method } from "../../../types/method.ts";
import type { Parts } from "../parts/parts.ts";

/** Milliseconds that a client waits for other programs that write the file. */
const PATIENCE_MS = 10_000;

/** The methods that read and replace `exec-approvals.json`. Its `socket`, which holds a token, is neither shown nor changed. */
export function approvalFileMethods({ live, log }: Pick<Parts, "live" | "log">): readonly Method[] {
  const path = join(live.paths.stateDir, EXEC_APPROVALS_FILE);
  return [
    defineMethod({
      name: "exec.approvals.get",
      scope: "operator.admin",
      params: z.looseObject({}),
      result: approvalAnswers.document,
      run: async () => asMethod(async () => shownApprovals(path)),
    }),
    defineMethod({
      name: "exec.approvals.set",
      scope: "operator.admin",
      params: z.looseObject({ file: z.record(z.string(), z.unknown()), baseHash: z.string().min(1).optional() }),
      result: approvalAnswers.document,
      run: async ({ file, baseHash }, { connId }) =>
        asMethod(async () => {
          if (baseHash === undefined && shownApprovals(path).exists) throw noBaseHash();
          const written = await replaceApprovals(path, file, { baseHash, patienceMs: PATIENCE_MS });
          log.info("approvals replaced by a client", { conn: connId, hash: written.hash });
          return written;
        }),
    }),
  ];
}

/** A mistake that the operator must mend is an answer with its code. */
async function asMethod(work: () => Promise<ShownApprovals>): Promise<ShownApprovals> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof OpenClawError)) throw error;
    const details = { code: error.code, fix: error.fix };
    throw new MethodError(error.code === "APPROVALS_CHANGED" ? "CONFLICT" : "UNAVAILABLE", error.message, { details });
  }
}

const noBaseHash = (): MethodError =>
  new MethodError("INVALID_REQUEST", "exec.approvals.set needs `baseHash`, since there is a file already", {
    details: { code: "BASE_HASH_REQUIRED", fix: "Call exec.approvals.get, and name the hash of its answer." },
  });

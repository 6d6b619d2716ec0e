import { userInfo } from "node:os";
import type { Unusable } from "../probe.ts";

interface Facts {
  readonly backend: "docker" | "podman";
  readonly image: string;
}

type Explanation = Pick<Unusable, "why" | "fix">;

const KEY = "agents.defaults.sandbox";

/** What the engine's client prints, what it means, and what mends it. The first row that matches counts. */
const CAUSES: readonly { readonly says: RegExp; readonly means: (facts: Facts) => Explanation }[] = [
  {
    says: /no such image|unable to find image|image not known|does not exist locally|repository does not exist/i,
    means: ({ backend, image }) => ({
      why: `${backend} has no image ${image}`,
      fix: `Build it, or run: ${backend} pull ${image}; or name another one (${KEY}.docker.image).`,
    }),
  },
  {
    says: /permission denied.*docker\.sock/i,
    means: () => ({
      why: "this user may not use docker",
      fix: `Run: sudo usermod -aG docker ${nameOfUser()}, then log in again and restart the gateway.`,
    }),
  },
  {
    says: /cannot connect|connection refused|is the docker daemon running|unable to connect/i,
    means: ({ backend }) => ({
      why: `${backend}'s engine does not run`,
      fix: `Start it, such as with: sudo systemctl start ${backend}.`,
    }),
  },
  {
    says: /(?:container-init|catatonit|docker-init).*not found/i,
    means: ({ backend }) => ({
      why: `${backend} lacks the program that becomes the first process of a container`,
      fix: "Run: sudo apt install catatonit (for docker: tini).",
    }),
  },
  {
    says: /executable file not found|no such file or directory.*\/bin\/sh|\/bin\/sh.*no such file/i,
    means: ({ image }) => ({
      why: `the image ${image} has no /bin/sh`,
      fix: `Name an image with a shell (${KEY}.docker.image).`,
    }),
  },
];

function nameOfUser(): string {
  try {
    return userInfo().username;
  } catch {
    // The system has no name for it.
    return "$USER";
  }
}

/** Why the engine could not start a program, from what its client printed. */
export function whyEngineFails(said: string, facts: Facts): Unusable {
  const row = CAUSES.find(({ says }) => says.test(said));
  if (row) return { ok: false, ...row.means(facts) };
  const line = said.split("\n").findLast((one) => one.trim() !== "") ?? "";
  return {
    ok: false,
    why: line === "" ? `${facts.backend} did not answer within ten seconds` : `${facts.backend} failed: ${line}`,
    fix: `Run: ${facts.backend} run --rm ${facts.image} true, to see the cause; or set ${KEY}.backend to bwrap.`,
  };
}

import { stagePlugin } from "../../../src/plugins/install/stage.ts";
import { commitDraft, repairStore, withStoreLock } from "../../../src/plugins/install/swap.ts";
import { storeIn } from "../../kit/plugins/sources.ts";

/** Installs one folder after the other, over and over, until the process is killed. Says when it begins and after each. */
const [dir = "", ...sources] = process.argv.slice(2);
const store = storeIn(dir);
process.stdout.write("ready\n");
for (let round = 0; ; round++) {
  await withStoreLock(store, async () => {
    await repairStore(store);
    const path = sources[round % sources.length] ?? "";
    const { draft = "", record } = await stagePlugin(
      store,
      { kind: "path", path },
      { pin: false, step: () => undefined },
    );
    await commitDraft(store, { draft, id: "toy", record });
  });
  process.stdout.write("installed\n");
}

import { CompactionDesk } from "../../../src/history/engines/compaction/compaction-desk.ts";
import { legacyEngine } from "../../../src/history/engines/legacy.ts";
import { contextEngineContract } from "../../contracts/context-engine.ts";
import { hostileEngineContract } from "../../contracts/engine-host.ts";
import { RecordingEngine } from "./recording-engine.ts";

contextEngineContract({ name: "legacy", open: () => legacyEngine((params) => new CompactionDesk().compact(params)) });
contextEngineContract({ name: "recording", open: () => new RecordingEngine() });
// It cannot keep the engines' contract; the host keeps its own.
hostileEngineContract();

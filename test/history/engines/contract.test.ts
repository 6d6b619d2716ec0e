import { contextEngineContract } from "../../contracts/context-engine.ts";
import { hostileEngineContract } from "../../contracts/engine-host.ts";
import { RecordingEngine } from "./recording-engine.ts";

contextEngineContract({ name: "recording", open: () => new RecordingEngine() });
// It cannot keep the engines' contract; the host keeps its own.
hostileEngineContract();

export { systemTimers, type Timers } from "../timers.ts";

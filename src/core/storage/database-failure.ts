import { ThroughlineError } from "../errors.ts";

/** What the database, or the way to it, is to blame for: whoever tells it to a person tells where to look. */
export class DatabaseFailure extends ThroughlineError {}

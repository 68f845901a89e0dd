/** Where facts to remember come from: a file, a vector memory, a service. */
export interface MemoryProvider {
  /**
   * Facts to remember, one a line, the most important first; "" when there are none. Asked for before
   * every request to a model: 4,000 characters are used at most. What it returns is data, and is
   * quoted line by line behind the persona.
   */
  startupContext(): Promise<string>;
}

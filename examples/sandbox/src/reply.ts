/** What goes back to the client. Plain data, so that Hapax can keep the one of a payment and give it again. */
export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export function jsonReply(status: number, value: unknown, headers: Reply['headers'] = {}): Reply {
  return { status, headers: { 'Content-Type': 'application/json', ...headers }, body: JSON.stringify(value) }
}

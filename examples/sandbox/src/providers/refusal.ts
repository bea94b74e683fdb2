/** Thrown wherever a request ends early and nothing is done. */
export class Refusal extends Error {
  readonly status: number
  readonly code: string
  /** What is told beside code and message. */
  readonly more: Readonly<Record<string, unknown>>

  constructor(status: number, code: string, message: string, more: Readonly<Record<string, unknown>> = {}) {
    super(message)
    this.status = status
    this.code = code
    this.more = more
  }

  get body(): unknown {
    return { error: { code: this.code, message: this.message, ...this.more } }
  }
}

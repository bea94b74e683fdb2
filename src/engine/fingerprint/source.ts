/** What a fingerprint is computed over. */
export interface FingerprintSource {
  /** Method and path of a request, or the name of an operation; each part is hashed apart. */
  readonly subject: readonly string[]
  /** The query of a request, its parameters in one order; `undefined` where there is none. */
  readonly query?: string | undefined
  readonly mediaType: string | undefined
  readonly body: Uint8Array
  /** Only read by the strategies that name a header. Names in lower case. */
  readonly header?: (name: string) => string | undefined
}

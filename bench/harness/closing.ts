/** Registers what ends something that was started. */
export type Later = (close: () => unknown) => void

/** Whatever happens, everything that was started is ended, the last first. */
export async function closing<Result>(work: (later: Later) => Promise<Result>): Promise<Result> {
  const closes: (() => unknown)[] = []
  try {
    return await work((close) => closes.unshift(close))
  } finally {
    for (const close of closes) await close()
  }
}

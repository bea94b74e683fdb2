const width = 30

/** A bar on the error stream, where a person looks; elsewhere nothing. */
export function progressBar(what: string) {
  const isShown = process.stderr.isTTY === true
  return {
    show(done: number, of: number) {
      if (!isShown) return
      const filled = of === 0 ? width : Math.round((done / of) * width)
      process.stderr.write(`\r${what} [${'#'.repeat(filled)}${'.'.repeat(width - filled)}] ${done}/${of}`)
    },
    /** Where nobody knows how much there is. */
    count(done: number) {
      if (isShown) process.stderr.write(`\r${what} ${done}`)
    },
    end() {
      if (isShown) process.stderr.write('\r\x1b[K')
    },
  }
}

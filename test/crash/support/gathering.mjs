/** A crowd, of which those who are here wait until nobody is missing any more. */
export function gathering() {
  let missing = new Set()
  let open = () => {}
  let opened = Promise.resolve()
  return {
    /** @param {readonly string[]} names */
    expect(names) {
      missing = new Set(names)
      opened = new Promise((resolve) => {
        open = () => resolve(undefined)
      })
    },
    /**
     * He is here, or will never be.
     *
     * @param {string} name
     * @returns {Promise<void>} when all are
     */
    isHere(name) {
      missing.delete(name)
      if (missing.size === 0) open()
      return opened
    },
  }
}

/** Says every second that there is work under way, until the work is done: whoever is silent is taken to be in an endless loop. */
export async function working(work: () => Promise<void>): Promise<void> {
  const beat = setInterval(() => console.log(JSON.stringify({ kind: 'working' })), 1_000)
  try {
    await work()
  } finally {
    clearInterval(beat)
  }
}

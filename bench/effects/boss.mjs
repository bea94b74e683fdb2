import PgBoss from 'pg-boss'

const queue = 'bench'

/**
 * pg-boss, as far as it is compared: it fetches and completes three batches at once, as many as our worker has in hand.
 *
 * @param {string} url
 * @param {number} connections
 * @returns {Promise<import('./app.mjs').Worked>}
 */
export async function startedBoss(url, connections) {
  const boss = new PgBoss({ connectionString: url, max: connections, supervise: false, schedule: false })
  boss.on('error', (error) => console.error(error))
  await boss.start()
  await boss.createQueue(queue)
  return {
    async write(count) {
      const jobs = Array.from({ length: count }, (_, number) => ({ name: queue, data: { orderId: `o-${number}` } }))
      for (let from = 0; from < count; from += 1_000) await boss.insert(jobs.slice(from, from + 1_000))
    },
    async carryOut(count, batch) {
      let left = count
      const lane = async () => {
        while (left > 0) {
          const jobs = await boss.fetch(queue, { batchSize: batch })
          if (jobs.length === 0) return
          await Promise.all(jobs.map(async () => ({ id: 'p_1' })))
          await boss.complete(
            queue,
            jobs.map(({ id }) => id),
          )
          left -= jobs.length
        }
      }
      await Promise.all([lane(), lane(), lane()])
    },
  }
}

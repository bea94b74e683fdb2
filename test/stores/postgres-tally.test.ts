import { expect, test } from 'vitest'
import { tally } from '../../src/stores/postgres/tally.js'

test('it is over when all that had begun are, whatever has begun since', async () => {
  const underWay = tally()
  const heard: string[] = []
  const [first, second] = [underWay.begin(), underWay.begin()]
  const over = underWay.over().then(() => heard.push('over'))
  const late = underWay.begin()
  first()
  await settled()
  expect(heard).toEqual([])
  second()
  await over
  const again = underWay.over().then(() => heard.push('over again'))
  await settled()
  expect(heard).toEqual(['over'])
  late()
  await again
  expect(heard).toEqual(['over', 'over again'])
})

test('who asks again while somebody waits waits for both', async () => {
  const underWay = tally()
  const first = underWay.begin()
  const asked = [underWay.over(), underWay.over()]
  first()
  await Promise.all(asked)
  await underWay.over()
})

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

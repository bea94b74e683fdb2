import type { Circumstances } from './machine.js'

/** More of the machine than this was somebody else's: the numbers would be his. */
const quietShare = 0.15

/** How others disturbed what was measured; `undefined` when they did not. */
export function disturbed({
  busyBefore,
  busyMeanwhile = 0,
}: Pick<Circumstances, 'busyBefore' | 'busyMeanwhile'>): string | undefined {
  const percent = (share: number) => `${Math.round(share * 100)} %`
  if (busyBefore > quietShare) return `${percent(busyBefore)} of this machine was busy before it began`
  if (busyMeanwhile > quietShare) return `others had ${percent(busyMeanwhile)} of this machine meanwhile`
  return undefined
}

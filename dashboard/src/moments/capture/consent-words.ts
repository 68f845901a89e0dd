// The text that a person agrees to before a camera or a microphone is on. It is stored with every moment.

export interface ConsentAsked {
  readonly camera: boolean;
  readonly microphone: boolean;
  /** The bucket that moments can be uploaded to. */
  readonly bucket: string | null;
  /** They may be uploaded. */
  readonly upload: boolean;
  /** They may be exported for training. */
  readonly export: boolean;
}

/** In paragraphs. */
export function consentWords(asked: ConsentAsked): readonly string[] {
  const { bucket, upload } = asked;
  const where =
    upload && bucket !== null
      ? `It is stored on the machine that runs the companion, and in the bucket “${bucket}”, until you delete it.`
      : "It is stored on the machine that runs the companion until you delete it, and is not sent anywhere else.";
  return [
    "When you react to something I did, I keep the last two minutes of picture and sound with it.",
    `${sourcesInWords(asked)} turned on. Pictures and sound stay in memory for two minutes and are then discarded, unless someone reacts.`,
    `What is saved: the messages, ${mediaInWords(asked)} of those two minutes. ${where}`,
    asked.export ? "It may be exported for training." : "It is not exported for training.",
    "Turning off empties the memory at once. Saved moments stay in Moments, where you can delete them.",
  ];
}

/** "The camera is", "The camera and the microphone are". */
function sourcesInWords({ camera, microphone }: ConsentAsked): string {
  if (camera && microphone) return "The camera and the microphone are";
  return camera ? "The camera is" : "The microphone is";
}

function mediaInWords({ camera, microphone }: ConsentAsked): string {
  if (camera && microphone) return "the pictures and the sound";
  return camera ? "and the pictures" : "and the sound";
}
